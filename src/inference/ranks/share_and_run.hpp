#pragma once

#include <vector>

#include "cluster/communicator.hpp"
#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"
#include "inference/ranks/rank_report.hpp"
#include "inference/ranks/rank_resources.hpp"

namespace spdnn {

/// A run on all ranks.
template <class Result>
struct Ranked {
  /// On the root that of all ranks, each time the longest; elsewhere the rank's own.
  Result result;
  std::vector<RankTimes> ranks;  ///< by rank, on the root; empty for a single process
};

/// The resources that a rank requests from its machine.
struct RankWish {
  int threads = 0;  ///< 0: its part of the node's
  bool cuda = false;
  int device = 0;  ///< which of the visible CUDA devices
  bool share_devices = false;
};

/// The resources that a rank gets, next to the others of its node.
struct RankShare {
  int cpu_sharers = 1;   ///< processes that share the host's memory, this one included
  int cuda_sharers = 1;  ///< the same of the device
};

/// Runs on all ranks, which begin together: `run(share)` gives this rank's Ranked, `gather(all)` adds those of the
/// other ranks to the root's. Meanwhile host_threads() is at most the rank's part of the node's. Each rank calls
/// `ready()` before any of them begins. A single process only runs.
template <class Run, class Ready, class Gather>
auto run_and_gather(Communicator& ranks, const RankWish& wish, const Ready& ready, const Run& run,
                    const Gather& gather) {
  if (ranks.is_alone()) return run(RankShare{});
  RankShare share{.cpu_sharers = ranks.place().node_ranks};
  if (wish.cuda)
    share.cuda_sharers = sharers_of_device(ranks, Device::cuda, {.device = wish.device}, wish.share_devices);
  const ThreadLimit limit(threads_of(ranks, wish.threads));
  ready();
  ranks.barrier();
  auto all = run(share);
  const Stopwatch watch;
  gather(all);
  all.result.gather_seconds += watch.seconds();
  return all;
}

/// Whether one of the orders runs on CUDA.
template <class Orders, class Find>
bool any_on_cuda(const Orders& orders, const Find& find) {
  return std::any_of(orders.begin(), orders.end(),
                     [&](const auto& order) { return find(order.variant).device == Device::cuda; });
}

}  // namespace spdnn
