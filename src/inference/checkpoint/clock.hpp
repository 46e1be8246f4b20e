#pragma once

#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

namespace spdnn {

/// When a run writes its checkpoints and when it ends before its time, by the clock of one rank. A checkpoint may be
/// written on another thread.
class CheckpointClock {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// The largest share of the interval that writing may take; otherwise the interval grows.
  static constexpr double kMostShare = 0.05;

  struct Settings {
    double every = kNever;       ///< seconds from one checkpoint to the next
    double time_left = kNever;   ///< seconds by which the run is to have ended
    std::function<bool()> stop;  ///< asked each time; empty: never
  };

  /// `now` gives seconds from any moment on.
  CheckpointClock(Settings settings, std::function<double()> now);

  /// The run begins, and with it the interval.
  void begin();
  /// To be asked between layers: seconds until a checkpoint is due; 0 or less: now.
  double due_in();
  /// Whether the run is to end there.
  bool ends() const { return ends_; }
  /// The reason, as the end of a sentence; empty if the stop was requested.
  const std::string& why() const { return why_; }

  /// A checkpoint's statement on the next one.
  struct Statement {
    double every = kNever;        ///< the interval until the next one is due
    double next_within = kNever;  ///< seconds until it will be in place, at most, as far as is known
  };
  /// The writing of a checkpoint begins.
  Statement begin_writing();
  /// The run continues, though the checkpoint may still be being written: the interval begins. The time since due_in()
  /// does not count as a layer's.
  void go_on();
  /// The checkpoint has been written in `seconds`. The interval grows if it has to, after the next one.
  void written(double seconds);
  /// Writing and the interval are those of another rank, which has measured them.
  void adopt(double writing, double every);

  /// The interval after the next checkpoint; grown() if it is longer than requested.
  double every() const;
  bool grown() const { return every() > asked_; }
  double writing() const;

 private:
  double time_to_write(double now) const;

  mutable std::mutex mutex_;  ///< of what written() and adopt() change
  std::function<double()> now_;
  std::function<bool()> stop_;
  double end_;
  double asked_;  ///< the requested interval
  double every_;
  double interval_;  ///< the one that has begun
  double began_;
  std::optional<double> looked_;
  double longest_look_ = 0;              ///< seconds from one question to the next
  double writing_ = 0;                   ///< seconds
  std::optional<double> writing_since_;  ///< of a checkpoint that is being written
  bool ends_ = false;
  std::string why_;
};

}  // namespace spdnn
