#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "inference/model/run.hpp"
#include "inference/ranks/share_and_run.hpp"

namespace spdnn {

// One run of a model on all ranks of a job, as run_on_ranks.hpp has it for networks. All ranks call these functions
// together. A process by itself calls them too, and nothing is sent.

/// What all ranks are to do: decided on the root, for all images.
struct ModelOrder {
  std::string variant;
  Precision precision = Precision::fp32;
  Index images = 0;         ///< of all ranks
  Index batch = 0;          ///< images at a time
  bool may_shrink = false;  ///< smaller batches may run where memory runs out
  int trials = 1;
  int warm_up = 0;
  bool profile = false;
};
/// The root's order on all ranks.
ModelOrder share_order(Communicator& ranks, const ModelOrder& order);

/// The root's model on all ranks, each of which has it in memory of its own; what others give is not looked at.
std::shared_ptr<const Model> share_model(Communicator& ranks, const std::shared_ptr<const Model>& model);

/// This rank's part of the root's images, in whole groups of `at_once`, of which the images are a multiple; what others
/// give is not looked at.
Tensor scatter_images(Communicator& ranks, const Tensor& images, Index at_once);
/// The most images that one of so many ranks has then.
Index most_images(Index images, Index at_once, int ranks);

using RankedModelResult = Ranked<ModelRunResult>;
/// Runs this rank's images, perhaps none, which are those after the images of the ranks before it. The ranks begin
/// together. What `options` have beside the order is this rank's own. RanksFailed (cluster/together.hpp), on all ranks,
/// where the run of one fails; DeviceError on the root where it has no memory for the output of all.
RankedModelResult run_model_on_ranks(Communicator& ranks, const ModelOrder& order,
                                     const std::shared_ptr<const Model>& model, const Tensor& mine,
                                     const ModelRunOptions& options, bool share_devices = false);

}  // namespace spdnn
