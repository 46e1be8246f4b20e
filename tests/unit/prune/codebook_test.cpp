// Codebooks of samples: exactness with few values, k-means, and how near the best possible they come.

#include "prune/codebook.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "support/sampled.hpp"

namespace spdnn {
namespace {

std::vector<Sample> normal_samples(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Sample> samples(count);
  for (Sample& sample : samples) sample = {normal(random), 1 + 3 * static_cast<double>(random() % 4)};
  return samples;
}

double loss_of(const std::vector<Sample>& samples, const std::vector<float>& codebook) {
  double loss = 0;
  for (const Sample& sample : samples) {
    const double error = double{sample.value} - codebook[nearest_of(codebook, sample.value)];
    loss += sample.weight * error * error;
  }
  return loss;
}

/// The least loss of `size` numbers for ascending samples, by dynamic programming over the last number's first sample.
double least_loss(const std::vector<Sample>& samples, std::size_t size) {
  std::vector<double> best(samples.size() + 1, std::numeric_limits<double>::infinity());
  best[0] = 0;
  for (std::size_t used = 0; used < size; ++used) {
    std::vector<double> next(best.size(), std::numeric_limits<double>::infinity());
    for (std::size_t first = 0; first < samples.size(); ++first) {
      double weight = 0;
      double moment = 0;
      double square = 0;
      for (std::size_t last = first; last < samples.size(); ++last) {
        weight += samples[last].weight;
        moment += samples[last].weight * samples[last].value;
        square += samples[last].weight * samples[last].value * samples[last].value;
        next[last + 1] = std::min(next[last + 1], best[first] + square - moment * moment / weight);
      }
    }
    best = next;
  }
  return best.back();
}

TEST(Codebook, HasAllOfFewValues) {
  EXPECT_EQ(codebook_of({{2, 1}, {-1, 1}, {2, 5}}, 2), (std::vector<float>{-1, 2}));
  EXPECT_EQ(codebook_of({}, 4), std::vector<float>{});
}

TEST(Codebook, SamplesWithoutWeightLeaveItsNumbersWhereTheyAre) {
  for (const float number : codebook_of({{-9, 0}, {-8, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}, 4)) {
    EXPECT_GE(number, -9);
    EXPECT_LE(number, 4);
  }
}

TEST(Codebook, NumbersAreTheMeansOfTheNearestSamples) {
  const std::vector<Sample> samples = normal_samples(2000, 1);
  const std::vector<float> codebook = codebook_of(samples, 16);
  ASSERT_EQ(codebook.size(), 16U);
  std::vector<double> weights(16);
  std::vector<double> moments(16);
  for (const Sample& sample : samples) {
    const std::size_t nearest = nearest_of(codebook, sample.value);
    for (const float other : codebook)
      EXPECT_LE(std::abs(sample.value - codebook[nearest]), std::abs(sample.value - other));
    weights[nearest] += sample.weight;
    moments[nearest] += sample.weight * sample.value;
  }
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(codebook[i], moments[i] / weights[i], 1e-5);
}

/// As of rows with one large weight each: none of the numbers is spent on a gap.
TEST(Codebook, SpendsAllNumbersWhereSamplesHaveAGap) {
  std::vector<Sample> samples = normal_samples(testing::sampled(700, 2000), 3);
  for (Sample& sample : samples) sample.value *= 0.002F;
  samples.push_back({1, 1});
  const std::vector<float> codebook = codebook_of(samples, 16);
  EXPECT_EQ(std::set<float>(codebook.begin(), codebook.end()).size(), 16U);
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.value < b.value; });
  EXPECT_LT(loss_of(samples, codebook), 1.5 * least_loss(samples, 16));
}

TEST(Codebook, LosesLittleMoreThanTheBest) {
  std::vector<Sample> samples = normal_samples(testing::sampled(400, 1000), 2);
  for (std::size_t i = 0; i < 50; ++i) samples[i].value *= 4;  // long tails
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.value < b.value; });
  for (const std::size_t size : {4, 16, 32})
    EXPECT_LT(loss_of(samples, codebook_of(samples, size)), 1.2 * least_loss(samples, size)) << size;
}

TEST(Codebook, OfTwoNearestTheSmaller) {
  EXPECT_EQ(nearest_of({1, 3}, 2), 0U);
  EXPECT_EQ(nearest_of({1, 3}, 2.5), 1U);
  EXPECT_EQ(nearest_of({1, 3}, -7), 0U);
  EXPECT_EQ(nearest_of({1, 3}, 9), 1U);
}

}  // namespace
}  // namespace spdnn
