#include "inference/checkpoint/rounds.hpp"

#include <exception>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/together.hpp"
#include "core/system/stopwatch.hpp"

namespace spdnn {

namespace {

/// The root's measurements.
struct CommonPace {
  double writing = 0;
  double every = 0;
};

void fields(auto& archive, MaybeConst<CommonPace> auto& pace) { archive(pace.writing, pace.every); }

}  // namespace

void CheckpointRounds::wait() {
  if (const std::unique_ptr<Background<void>> writing = std::move(writing_)) writing->get();
}

/// The root's measurements count on all ranks.
void CheckpointRounds::record(double seconds) {
  clock_.written(seconds);
  const CommonPace pace = broadcast(ranks_, CommonPace{clock_.writing(), clock_.every()});
  clock_.adopt(pace.writing, pace.every);
}

CheckpointRounds::After CheckpointRounds::enter(bool done, const Keep& keep) {
  open_ = false;  // until the end of this round: an exception in it ends the job
  wait();
  const auto all = [&](bool mine) { return ranks_.all(mine, Communicator::Group::job); };
  if (!all(true)) throw RanksFailed(nullptr);
  if (all(done)) return After::done;
  if (!all(!clock_.ends())) return After::stopped;
  const CheckpointClock::Statement statement = clock_.begin_writing();
  const Stopwatch watch;
  if (Rest rest = keep(statement))
    writing_ = std::make_unique<Background<void>>([this, watch, rest = std::move(rest)](const auto&) {
      rest();
      record(watch.seconds());
    });
  else
    record(watch.seconds());
  clock_.go_on();
  open_ = true;
  return After::go_on;
}

void CheckpointRounds::fail() {
  open_ = false;
  const std::exception_ptr own = std::current_exception();
  try {
    wait();        // the others take part in it
  } catch (...) {  // the first failure is the one to report
  }
  ranks_.all(false, Communicator::Group::job);
  throw RanksFailed(own);
}

}  // namespace spdnn
