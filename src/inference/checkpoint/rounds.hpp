#pragma once

#include <functional>
#include <memory>

#include "cluster/communicator.hpp"
#include "core/threads/background.hpp"
#include "inference/checkpoint/clock.hpp"

namespace spdnn {

/// The rounds in which the ranks of a run come together to write a checkpoint, or to end early. A rank enters
/// a round between two of its layers when its own clock is due, and again and again once all of its work is done.
class CheckpointRounds {
 public:
  enum class After { go_on, stopped, done };

  /// What of a checkpoint a rank does on another thread while its run goes on; empty: nothing.
  using Rest = std::function<void()>;
  /// Gathers and writes the results, on all ranks together, as a whole or up to a rest.
  using Keep = std::function<Rest(const CheckpointClock::Statement&)>;

  CheckpointRounds(Communicator& ranks, CheckpointClock& clock) : ranks_(ranks), clock_(clock) {}

  /// Waits for this rank's last checkpoint and then for the others. If work is left, and no rank's clock ends the run,
  /// calls keep() on all ranks. RanksFailed (cluster/together.hpp) if the work of another rank has failed.
  After enter(bool done, const Keep& keep);

  /// The work of this rank has failed: the others, which are in a round or come to one, fail as well.
  [[noreturn]] void fail();
  /// Whether the others wait for a round of this rank: not where one has failed, or the last is over.
  bool open() const { return open_; }

 private:
  /// Waits for what is being written, and rethrows its exception.
  void wait();
  void record(double seconds);

  Communicator& ranks_;
  CheckpointClock& clock_;
  bool open_ = true;
  std::unique_ptr<Background<void>> writing_;
};

}  // namespace spdnn
