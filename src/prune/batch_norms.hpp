#pragma once

#include <cstddef>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// Mean and variance of each channel (axis 1), over all else.
class ChannelMoments {
 public:
  void add(const Tensor& values);
  std::vector<double> means() const;
  std::vector<double> variances() const;

 private:
  std::vector<double> sums_;
  std::vector<double> squares_;
  double count_ = 0;  ///< of each channel
};

/// The norm with mean and variance such that, after it, `now` has the mean and the deviation that `before` had after
/// the given norm: re-estimated statistics, but without the difference between these images and those of the training.
/// A channel that is constant before or now keeps its variance, and takes over the mean alone.
BatchNorm matched(BatchNorm norm, const ChannelMoments& before, const ChannelMoments& now);

}  // namespace spdnn
