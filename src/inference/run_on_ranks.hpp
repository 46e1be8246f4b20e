#pragma once

#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "cluster/fields.hpp"
#include "inference/rank_report.hpp"
#include "inference/run.hpp"
#include "inference/work.hpp"
#include "spdnn/images.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

// One run on all ranks of a job: every rank runs the same plan on images of its own. All ranks call these functions
// together. A process by itself calls them too, and nothing is sent.

/// Which engine runs which of the plan's forms, from which layer on: decided on the root, for all images.
struct RunOrder {
  Index layer = 0;
  std::string variant;
  Precision precision = Precision::fp32;
  bool in_order = false;      ///< the plan that `merge` falls back on
  bool may_overflow = false;  ///< see EngineOptions
  std::string why_in_order;   ///< see RunPlan
};
/// The root's order on all ranks.
RunOrder share_order(Communicator& ranks, const RunOrder& order);
/// The order to run `plan` on `images` from its first layer on.
RunOrder order_for(const Variant& variant, Precision precision, const Plan& plan, const ImageFacts& images);

/// This rank's part of the root's images; what others give is not looked at.
ImageSet scatter_images(Communicator& ranks, const ImageSet& images);

struct RankedResult {
  RunResult result;              ///< on the root that of all ranks, each time the longest; elsewhere the rank's own
  std::vector<RankTimes> ranks;  ///< by rank, on the root; empty for a process by itself
  std::vector<Work> left;        ///< on the root, of a run that was stopped: its ids are places in all ranks' images
};
/// Runs this rank's images, which are those after the images of the ranks before it. The ranks begin together. `plan`
/// begins with the order's layer. In `left`, images that were not begun come without their data. RanksFailed
/// (cluster/together.hpp), on all ranks, where the run of one fails.
RankedResult run_on_ranks(Communicator& ranks, const RunOrder& order, const Plan& plan, const ImageSet& mine,
                          const RunOptions& options);

/// Adds the times of another piece of the same work, and what is noted of it; outcome and plan stay as they are.
void add_times(RankedResult& all, const RankedResult& piece);

}  // namespace spdnn
