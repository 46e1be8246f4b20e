// Re-estimated batch norms.

#include "prune/batch_norms.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::random_norm;
using testing::random_tensor;
using testing::Rng;

Tensor normed(const BatchNorm& norm, const Tensor& x) {
  std::vector<float> values(x.values.begin(), x.values.end());
  const auto channels = static_cast<std::size_t>(x.shape[1]);
  const std::size_t each = values.size() / static_cast<std::size_t>(x.shape[0]) / channels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t k = i / each % channels;
    values[i] = (values[i] - norm.mean[k]) / std::sqrt(norm.variance[k] + norm.epsilon) * norm.scale[k] + norm.shift[k];
  }
  return {x.shape, std::move(values)};
}

ChannelMoments moments_of(const Tensor& x) {
  ChannelMoments moments;
  moments.add(x);
  return moments;
}

TEST(BatchNorms, OutputsHaveTheMomentsOfBefore) {
  Rng rng(4);
  const BatchNorm norm = random_norm(rng, 3);
  const Tensor before = random_tensor(rng, {8, 3, 4, 5});
  std::vector<float> changed(before.values.begin(), before.values.end());
  for (float& value : changed) value = 3 * value + 5;
  const Tensor now{before.shape, std::move(changed)};
  const BatchNorm fitted = matched(norm, moments_of(before), moments_of(now));
  const ChannelMoments wanted = moments_of(normed(norm, before));
  const ChannelMoments found = moments_of(normed(fitted, now));
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(found.means()[k], wanted.means()[k], 1e-3);
    EXPECT_GT(fitted.variance[k], 0);
    EXPECT_NEAR(found.variances()[k], wanted.variances()[k], 1e-3 * wanted.variances()[k]);
  }
  EXPECT_EQ(fitted.scale, norm.scale);
  EXPECT_EQ(fitted.shift, norm.shift);
}

TEST(BatchNorms, EqualMomentsChangeNothing) {
  Rng rng(5);
  const BatchNorm norm = random_norm(rng, 2);
  const ChannelMoments moments = moments_of(random_tensor(rng, {8, 2, 7}));
  const BatchNorm same = matched(norm, moments, moments);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_FLOAT_EQ(same.mean[k], norm.mean[k]);
    EXPECT_FLOAT_EQ(same.variance[k], norm.variance[k]);
  }
}

TEST(BatchNorms, AChannelThatBecameConstantKeepsItsVariance) {
  const BatchNorm norm{{2}, {1}, {0.5F}, {4}, 0};
  const BatchNorm fitted =
      matched(norm, moments_of({{2, 1}, std::vector<float>{0, 2}}), moments_of({{2, 1}, std::vector<float>{7, 7}}));
  EXPECT_EQ(fitted.variance[0], 4);
  EXPECT_FLOAT_EQ(fitted.mean[0], 6.5F) << "the mean of before, 1, stood 0.5 above the norm's";
}

/// Of many equal numbers, the mean of the squares may be less than the square of the mean, by a rounding.
TEST(BatchNorms, NoVarianceIsNegative) {
  for (int i = 1; i < 60; ++i) {
    ChannelMoments moments = moments_of({{7, 1}, std::vector<float>(7, 0.1F * static_cast<float>(i))});
    EXPECT_GE(moments.variances()[0], 0) << i;
  }
}

TEST(BatchNorms, MomentsAddUp) {
  ChannelMoments moments;
  moments.add({{1, 2, 2}, std::vector<float>{1, 3, 10, 10}});
  moments.add({{1, 2, 2}, std::vector<float>{1, 3, 10, 10}});
  EXPECT_EQ(moments.means(), (std::vector<double>{2, 10}));
  EXPECT_EQ(moments.variances(), (std::vector<double>{1, 0}));
}

}  // namespace
}  // namespace spdnn
