#pragma once

#include <memory>
#include <string>

#include "cluster/communicator.hpp"
#include "inference/model/run.hpp"
#include "inference/ranks/share_and_run.hpp"

namespace spdnn {

// One run of a model on all ranks of a job, the counterpart of run_on_ranks.hpp for networks. All ranks call these
// functions together. A single process calls them too; nothing is sent then.

/// The work of all ranks, decided on the root for all images. It has only variant and precision in common with
/// RunOrder: networks run in pieces that begin at a layer, models in one piece, whose batch the order fixes.
struct ModelOrder {
  std::string variant;
  Precision precision = Precision::fp32;
  Index images = 0;         ///< of all ranks
  Index batch = 0;          ///< images at a time
  bool may_shrink = false;  ///< smaller batches may run if memory runs out
};
/// The root's order on all ranks.
ModelOrder share_order(Communicator& ranks, const ModelOrder& order);

/// Copies the root's model to the memory of each rank; the argument of other ranks is ignored.
std::shared_ptr<const Model> share_model(Communicator& ranks, const std::shared_ptr<const Model>& model);

/// This rank's part of the root's images, in whole groups of `at_once`, which divides their number; the argument of
/// other ranks is ignored.
Tensor scatter_images(Communicator& ranks, const Tensor& images, Index at_once);
/// The largest share of any of `ranks` ranks.
Index most_images(Index images, Index at_once, int ranks);

using RankedModelResult = Ranked<ModelRunResult>;
/// Runs this rank's images, possibly none, which follow those of the preceding ranks. The ranks begin together.
/// Settings that are not in the order are in `options`. RanksFailed (cluster/together.hpp) on all ranks if one run
/// fails; DeviceError on the root if it lacks memory for all outputs.
RankedModelResult run_model_on_ranks(Communicator& ranks, const ModelOrder& order,
                                     const std::shared_ptr<const Model>& model, const Tensor& mine,
                                     const ModelRunOptions& options, bool share_devices = false);

}  // namespace spdnn
