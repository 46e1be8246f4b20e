#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/types/plan.hpp"
#include "plan/describe.hpp"
#include "report/document.hpp"
#include "report/run_line.hpp"
#include "spdnn/network.hpp"

namespace spdnn {

/// The data for a page about a network. Network and plan must outlive it.
struct NetworkView {
  std::string name;  ///< the network's name for the reader
  const Network& network;
  const Plan& plan;                        ///< of that network, in memory
  std::vector<LayerDescription> layers{};  ///< from describe()
  Index shown = 0;                         ///< the layer shown in detail
  bool official = false;
  std::vector<std::string> notes{};  ///< in addition to the plan's
  std::string variant{};             ///< the variant that would run
  std::string why{};                 ///< the reason for the choice; empty if the variant was requested
  std::vector<std::pair<std::string, std::size_t>> memory{};  ///< bytes, by purpose
  std::optional<RunLine> run{};                               ///< of this network
};

/// A page about a network: its layers, degrees and one layer's edges, the plan and the work removed by each pass,
/// twins, and, given a run, where images die and where their computation ends. Cost: a pass over the edges.
Document network_document(const NetworkView& view);

/// The last run with this network's neurons, layers, edges, bias (if it is a single number) and cap; lines do not
/// identify a network further. DataError if there is none; `name` is the file's.
RunLine run_of(const Network& network, const ResultLines& lines, std::string_view name);

}  // namespace spdnn
