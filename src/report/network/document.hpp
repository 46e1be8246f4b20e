#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/describe.hpp"
#include "report/document.hpp"
#include "report/run_line.hpp"
#include "spdnn/network.hpp"
#include "spdnn/plan.hpp"

namespace spdnn {

/// What the page of a network is made of. Network and plan must outlive it.
struct NetworkView {
  std::string name;  ///< as the reader knows the network
  const Network& network;
  const Plan& plan;                        ///< of that network, in memory
  std::vector<LayerDescription> layers{};  ///< as describe() gives them
  Index shown = 0;                         ///< the layer that is looked at more closely
  bool official = false;
  std::vector<std::string> notes{};                           ///< besides the plan's
  std::string variant{};                                      ///< what would run
  std::string why{};                                          ///< why that was chosen; empty where it was named
  std::vector<std::pair<std::string, std::size_t>> memory{};  ///< bytes, by what they are for
  std::optional<RunLine> run{};                               ///< of this network
};

/// The network seen: its layers, degrees and one layer's edges, the plan and what each pass leaves out, twins, and,
/// from a run, where images die and where they need not be computed any longer. Cost: a pass over the edges.
Document network_document(const NetworkView& view);

/// The last of the runs that has this network's neurons, layers, edges, bias (where it is one number) and cap: more of
/// a network, lines do not tell. DataError where there is none; `name` is that of the file.
RunLine run_of(const Network& network, const ResultLines& lines, std::string_view name);

}  // namespace spdnn
