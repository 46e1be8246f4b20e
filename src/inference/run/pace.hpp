#pragma once

#include <algorithm>
#include <cmath>

#include "spdnn/types.hpp"

namespace spdnn {

/// How far a run that may be interrupted queues work ahead on a device: it waits for the device after some steps, the
/// more the shorter they take, so that the wait costs next to nothing, and a stop is noticed within about kSeconds or a
/// step.
class Pace {
 public:
  static constexpr double kSeconds = 0.1;  ///< a wait costs some 20 microseconds
  static constexpr int kGrowth = 8;        ///< limit on the growth of the number of steps between waits

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

/// The number of layers that an interruptible run computes on a CPU between two checks. Few layers at a time are
/// expensive, because all activations are written to memory and read again in between. So it takes about `seconds`,
/// with at least one layer and at most `most`; it begins with one, and at most doubles.
class Stride {
 public:
  Stride(Index most, double seconds) : most_(std::max<Index>(1, most)), seconds_(seconds) {}

  Index layers() const { return layers_; }
  /// At most the layers that take `seconds` at the speed of the last ones.
  Index layers_within(double seconds) const {
    const double enough = std::ceil(seconds / std::max(layer_seconds_, kShortest));
    return enough < layers_ ? static_cast<Index>(std::max(1.0, enough)) : layers_;
  }
  /// `layers` layers have taken `seconds`.
  void took(Index layers, double seconds) {
    layer_seconds_ = seconds / layers;
    const double fitting = seconds > 0 ? static_cast<double>(layers) * seconds_ / seconds : most_;
    const double next = std::min({fitting, 2.0 * layers_, static_cast<double>(most_)});
    layers_ = std::max<Index>(1, static_cast<Index>(next));
  }

 private:
  static constexpr double kShortest = 1e-9;

  Index most_;
  double seconds_;
  double layer_seconds_ = 0;
  Index layers_ = 1;
};

}  // namespace spdnn
