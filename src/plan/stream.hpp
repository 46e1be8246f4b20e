#pragma once

#include <cstddef>

#include "core/types/layer_stream.hpp"
#include "core/types/plan.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// The memory limits for planning and running a network that is not in memory.
struct StreamRoom {
  Index at_once = 2;           ///< layers in memory at a time, as in StreamedLayers
  std::size_t plan_bytes = 0;  ///< of a plan whose layers are in memory
};

/// The plan of a network that is not in memory. With `twins` or `unused`, the layers are reduced as they are read, half
/// of those that may be in memory while the other half is read, and the plan holds the reduced layers in memory: the
/// same plan as make_plan()'s. If that takes more than `room.plan_bytes`, or neither pass is requested, the plan's
/// layers are the network's, streamed. `merge` is not applied, as it takes the plan twice. Cost: each layer is read
/// once for its reduction, and once for certificates and bounds unless they follow from its shape: if all neurons have
/// equally many inputs of one weight, and one bias.
Plan make_plan(const NetworkStream& network, const Passes& passes, const StreamRoom& room,
               const ProgressCallback& progress = {});

}  // namespace spdnn
