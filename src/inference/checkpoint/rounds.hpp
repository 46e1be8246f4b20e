#pragma once

#include <functional>

#include "cluster/communicator.hpp"
#include "inference/checkpoint/clock.hpp"

namespace spdnn {

/// The rounds in which the ranks of a run come together to write a checkpoint, or to end before their time. A rank
/// comes between two of its layers when its own clock says so, and again and again once it has done all of its work.
class CheckpointRounds {
 public:
  enum class After { go_on, stopped, done };

  CheckpointRounds(Communicator& ranks, CheckpointClock& clock) : ranks_(ranks), clock_(clock) {}

  /// Waits for the others. If work is left, and no rank's clock ends the run, calls keep() on all ranks, to gather and
  /// write their results. RanksFailed (cluster/together.hpp) if the work of another rank has failed.
  After enter(bool done, const std::function<void()>& keep);

  /// The work of this rank has failed: the others, which are in a round or come to one, fail as well.
  [[noreturn]] void fail();
  /// Whether the others wait for a round of this rank: not where one has failed, or the last is over.
  bool open() const { return open_; }

 private:
  Communicator& ranks_;
  CheckpointClock& clock_;
  bool open_ = true;
};

}  // namespace spdnn
