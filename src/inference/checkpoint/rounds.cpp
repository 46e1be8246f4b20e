#include "inference/checkpoint/rounds.hpp"

#include <exception>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/together.hpp"
#include "core/system/stopwatch.hpp"

namespace spdnn {

namespace {

/// The root's measurements.
struct Pace {
  double writing = 0;
  double every = 0;
};

void fields(auto& archive, MaybeConst<Pace> auto& pace) { archive(pace.writing, pace.every); }

}  // namespace

CheckpointRounds::After CheckpointRounds::enter(bool done, const std::function<void()>& keep) {
  open_ = false;  // until the end of this round: an exception in it ends the job
  const auto all = [&](bool mine) { return ranks_.all(mine, Communicator::Group::job); };
  if (!all(true)) throw RanksFailed(nullptr);
  if (all(done)) return After::done;
  if (!all(!clock_.ends())) return After::stopped;
  const Stopwatch watch;
  keep();
  clock_.written(watch.seconds());
  const Pace pace = broadcast(ranks_, Pace{clock_.writing(), clock_.every()});
  clock_.adopt(pace.writing, pace.every);
  clock_.go_on();
  open_ = true;
  return After::go_on;
}

void CheckpointRounds::fail() {
  open_ = false;
  ranks_.all(false, Communicator::Group::job);
  throw RanksFailed(std::current_exception());
}

}  // namespace spdnn
