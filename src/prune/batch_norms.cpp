#include "prune/batch_norms.hpp"

#include <algorithm>
#include <cmath>

namespace spdnn {

void ChannelMoments::add(const Tensor& values) {
  const auto channels = static_cast<std::size_t>(values.shape[1]);
  const std::size_t each = values.values.size() / static_cast<std::size_t>(values.shape[0]) / channels;
  sums_.resize(channels);
  squares_.resize(channels);
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    const double value = values.values[i];
    sums_[i / each % channels] += value;
    squares_[i / each % channels] += value * value;
  }
  const std::size_t of_channel = values.values.size() / channels;
  count_ += static_cast<double>(of_channel);
}

std::vector<double> ChannelMoments::means() const {
  std::vector<double> means = sums_;
  for (double& mean : means) mean /= count_;
  return means;
}

std::vector<double> ChannelMoments::variances() const {
  std::vector<double> variances = means();
  for (std::size_t k = 0; k < variances.size(); ++k)
    variances[k] = std::max(squares_[k] / count_ - variances[k] * variances[k], 0.0);
  return variances;
}

BatchNorm matched(BatchNorm norm, const ChannelMoments& before, const ChannelMoments& now) {
  const std::vector<double> means = before.means();
  const std::vector<double> variances = before.variances();
  const std::vector<double> new_means = now.means();
  const std::vector<double> new_variances = now.variances();
  for (std::size_t k = 0; k < norm.mean.size(); ++k) {
    const double spread = variances[k] > 0 && new_variances[k] > 0 ? new_variances[k] / variances[k] : 1.0;
    const auto variance =
        static_cast<float>(std::max((norm.variance[k] + double{norm.epsilon}) * spread - norm.epsilon, 0.0));
    const double ratio = std::sqrt((variance + double{norm.epsilon}) / (norm.variance[k] + double{norm.epsilon}));
    norm.mean[k] = static_cast<float>(new_means[k] - (means[k] - norm.mean[k]) * ratio);
    norm.variance[k] = variance;
  }
  return norm;
}

}  // namespace spdnn
