#pragma once

#include <string>
#include <vector>

#include "core/types/plan.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/network/memory_estimate.hpp"
#include "plan/describe.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/load.hpp"

namespace spdnn {

/// A run that is not made: its choices and its memory are predicted.
struct InspectedRun {
  Index images = 1;
  int ranks = 1;
  int ranks_per_node = 1;
  bool checkpoint = false;  ///< writes checkpoints, for which engines on the CPU keep all images of a batch

  /// The maximum number of images of a rank.
  Index share() const { return (images + static_cast<Index>(ranks) - 1) / static_cast<Index>(ranks); }
};

struct InspectedNetwork {
  Plan plan;
  std::vector<LayerDescription> layers{};
  std::vector<std::string> notes{};  ///< in addition to the plan's
  EngineChoice choice{};
  int threads = 1;         ///< of a rank
  MemoryEstimate rank{};   ///< the memory of a rank
  RanksEstimate memory{};  ///< the memory of all ranks
};

/// The network of the specification. DeviceError if it and its plan take more than `host_memory` bytes (0: those that
/// are free), or if the device that finds twins is missing.
GivenNetwork load_to_inspect(const InferenceSpec& spec, std::size_t host_memory);
/// Its plan, the variant that would run, and the memory of the run. UsageError if no variant supports it.
InspectedNetwork inspected_network(const InferenceSpec& spec, const GivenNetwork& given, const InspectedRun& run);

}  // namespace spdnn
