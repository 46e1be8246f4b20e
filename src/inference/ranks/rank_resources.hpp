#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "engines/engine.hpp"

namespace spdnn {

// A rank's share of its machine: processors and a CUDA device. All ranks call these functions together, except
// device_of_rank().

/// For each of `things`, how many ranks on this rank's host have the same one, this rank included.
std::vector<int> sharers_of(Communicator& ranks, const std::vector<std::string>& things);

/// The host threads of this rank: `asked`, or if that is 0, its part of the processors that it may use.
int threads_of(Communicator& ranks, int asked);

/// The ordinal of this rank's device among those that it sees: ranks of a node take one after another.
int device_of_rank(const RankPlace& place);

/// For DeviceStart: the device of this rank, or `given` for a single process.
std::function<int()> device_choice(const RankPlace& place, int given);

/// A device that a rank runs on.
struct UsedDevice {
  std::string id;   ///< DeviceNames::id
  int visible = 0;  ///< devices that the rank sees
};

/// How many ranks run on this rank's device, and so share its memory. RanksFailed, on all ranks, where several run on
/// one and `may_share` is false.
int sharers_of_device(Communicator& ranks, const UsedDevice& used, bool may_share);

/// The same for the device of `options`; the processors of a node are shared by all of its ranks.
int sharers_of_device(Communicator& ranks, Device device, const EngineOptions& options, bool may_share);

}  // namespace spdnn
