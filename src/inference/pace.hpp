#pragma once

#include <algorithm>

namespace spdnn {

/// How far a run that may be stopped queues work ahead on a device: it waits for the device after some steps, the more
/// the shorter they take, so that the wait costs next to nothing, and a stop is noticed within about kSeconds or a
/// step.
class Pace {
 public:
  static constexpr double kSeconds = 0.1;  ///< a wait costs some 20 microseconds
  static constexpr int kGrowth = 8;        ///< at most so many times as many steps as before the last wait

  /// A step has been queued: whether to wait now.
  bool due() { return ++queued_ >= most_; }
  /// The steps since the last wait took so long.
  void waited(double seconds) {
    const double steps = seconds * kGrowth <= kSeconds ? kGrowth * queued_ : queued_ * kSeconds / seconds;
    most_ = std::max(1, static_cast<int>(std::min(steps, kMostSteps)));
    queued_ = 0;
  }

 private:
  static constexpr double kMostSteps = 1e6;

  int queued_ = 0;
  int most_ = 1;
};

}  // namespace spdnn
