#include "cli/on_ranks.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "cli/ending.hpp"
#include "cli/signals.hpp"
#include "cluster/join.hpp"
#include "cluster/together.hpp"
#include "core/deadline.hpp"

namespace spdnn::cli {

std::unique_ptr<Communicator> join_within(int seconds) {
  if (!this_launch().maybe_several()) return alone();
  const auto held = hold_signals();
  const Deadline deadline(std::chrono::seconds(seconds), [seconds] { end_without_others(seconds); });
  return join();
}

int end_together(Communicator& ranks, const std::function<int()>& work) {
  try {
    return work();
  } catch (const RanksFailed& failed) {
    ranks.barrier();  // until the first rank has written what it knows
    if (failed.own) std::rethrow_exception(failed.own);
    std::this_thread::sleep_for(std::chrono::seconds(5));  // the rank whose work failed ends the job
    throw;
  }
}

}  // namespace spdnn::cli
