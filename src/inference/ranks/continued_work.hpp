#pragma once

#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "core/types/plan.hpp"
#include "inference/checkpoint/checkpoint.hpp"
#include "inference/ranks/run_images.hpp"
#include "inference/run/work.hpp"

namespace spdnn {

/// This rank's part of the work that is left, a piece for each layer that it enters next; each piece is dealt by
/// images_dealt_to(). All ranks call it together. `begin` counts on the root: a checkpoint at which nothing is done, or
/// the one that read_checkpoint() read at `path`, whose files of activations are read here: by the ranks that find
/// them, each a part, or by the root alone if that fails. `ran` is the plan that they were computed with. DataError if
/// they are not those of the checkpoint, or of several ranks RanksFailed (cluster/together.hpp).
std::vector<Work> continued_work(Communicator& ranks, const RunImages& images, const std::string& path,
                                 const Checkpoint& begin, const Plan& ran);

}  // namespace spdnn
