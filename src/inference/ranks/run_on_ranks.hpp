#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "inference/checkpoint/clock.hpp"
#include "inference/ranks/left_work.hpp"
#include "inference/ranks/share_and_run.hpp"
#include "inference/run/run.hpp"
#include "inference/run/work.hpp"
#include "spdnn/images.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

// One run on all ranks of a job: every rank runs the same plan on its own images. All ranks call these functions
// together. A single process also calls them, without communication.

/// How one piece of work runs: decided on the root, for all of its images.
struct RunOrder {
  Index layer = 0;  ///< with which the work begins
  std::string variant;
  Precision precision = Precision::fp32;
  bool in_order = false;      ///< the plan that `merge` falls back on; the same in all orders of a run
  bool may_overflow = false;  ///< see EngineOptions
  std::string why_in_order;   ///< see RunPlan
};
/// The root's orders on all ranks, one for each piece of work.
std::vector<RunOrder> share_orders(Communicator& ranks, const std::vector<RunOrder>& orders);
/// The order to run `plan` on `images` from its first layer on.
RunOrder order_for(const Variant& variant, Precision precision, const Plan& plan, const ImageFacts& images);

/// The outcome is that of the whole run's layers, with ids of the whole run; the plan is the one that ran, from its
/// first layer on.
struct RankedResult : Ranked<RunResult> {
  /// If the run was stopped: the remaining work of this rank. Work at layer 0 comes without images.
  std::vector<Work> left;
};
/// Saving of results during a run.
struct Keeping {
  CheckpointClock& clock;  ///< this rank's
  /// Called on the root with the results and the remaining work of all ranks; on another thread while the run goes on
  /// if the root's engine can copy its activations.
  std::function<void(RankedResult, LeftWork&, const CheckpointClock::Statement&)> keep;
};

/// Runs this rank's part of each piece of work, one after another, without waiting for other ranks between them. The
/// ranks begin together. `plan` is that of the whole run; the orders have the precision. RanksFailed
/// (cluster/together.hpp), on all ranks, where the run of one fails.
/// With `keeping`, its clock interrupts the run on all ranks together. The clock of any rank may end the run early, and
/// leaves work.
RankedResult run_on_ranks(Communicator& ranks, const std::vector<RunOrder>& orders, const Plan& plan,
                          const std::vector<Work>& mine, const RunOptions& options, const Keeping* keeping = nullptr);

}  // namespace spdnn
