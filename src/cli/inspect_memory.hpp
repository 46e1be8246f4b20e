#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "core/types/plan.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/network/memory_estimate.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/network.hpp"

namespace spdnn::cli {

/// The run whose memory `inspect` shows.
struct InspectedRun {
  Index images = 1;
  int ranks = 1;
  int ranks_per_node = 1;
  bool checkpoint = false;  ///< writes checkpoints, for which engines on the CPU keep all images of a batch

  /// From --images, --ranks, --ranks-per-node and --checkpoint.
  explicit InspectedRun(const po::variables_map& values);
  /// The maximum number of images of a rank.
  Index share() const { return (images + static_cast<Index>(ranks) - 1) / static_cast<Index>(ranks); }
};

/// The memory of such a run, per rank and per node.
class InspectedMemory {
 public:
  InspectedMemory(const InspectedRun& run, const NetworkSpec& spec, const Network& network, const Plan& plan,
                  const EngineChoice& choice, EngineOptions options);
  void print(std::FILE* out) const;
  /// The parts with names, for the page.
  std::vector<std::pair<std::string, std::size_t>> named() const;
  nlohmann::ordered_json json() const;

 private:
  InspectedRun run_;
  int threads_;
  MemoryEstimate one_;
  RanksEstimate all_;
};

}  // namespace spdnn::cli
