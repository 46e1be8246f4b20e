#pragma once

#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "inference/run.hpp"
#include "spdnn/images.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

// One run on all ranks of a job: every rank runs the same plan on images of its own. All ranks call these functions
// together. A process by itself calls them too, and nothing is sent.

/// Which engine runs which of the plan's forms: decided on the root, for all images.
struct RunOrder {
  std::string variant;
  Precision precision = Precision::fp32;
  bool in_order = false;      ///< the plan that `merge` falls back on
  bool may_overflow = false;  ///< see EngineOptions
  std::string why_in_order;   ///< see RunPlan
};
/// The root's order on all ranks.
RunOrder share_order(Communicator& ranks, const RunOrder& order);
/// The order to run `plan` on `images`.
RunOrder order_for(const Variant& variant, Precision precision, const Plan& plan, const ImageSet& images);

/// This rank's part of the root's images; what others give is not looked at.
ImageSet scatter_images(Communicator& ranks, const ImageSet& images);

/// What the ranks took, each by itself.
struct RankTimes {
  std::string host;
  Index images = 0;
  double upload_seconds = 0;
  double infer_seconds = 0;  ///< the median of its trials
};
/// min, median and max over the ranks.
RankSpreads spreads_of(const std::vector<RankTimes>& times);

struct RankedResult {
  RunResult result;              ///< on the root that of all ranks, each time the longest; elsewhere the rank's own
  std::vector<RankTimes> ranks;  ///< by rank, on the root; empty for a process by itself
};
/// Runs this rank's images, which are those after the images of the ranks before it. The ranks begin together.
RankedResult run_on_ranks(Communicator& ranks, const RunOrder& order, const Plan& plan, const ImageSet& mine,
                          const RunOptions& options);

/// Which of the devices that this rank sees is its own, where the ranks of a node use one after another.
int device_of_rank(const RankPlace& place);

}  // namespace spdnn
