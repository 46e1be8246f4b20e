// The steps after which a run that may be stopped waits for its device.

#include "inference/run/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace spdnn {
namespace {

int steps_until_due(Pace& pace) {
  int steps = 1;
  while (!pace.due()) ++steps;
  return steps;
}

TEST(Pace, WaitsSeldomForShortStepsAndAfterEachLongOne) {
  for (const double step_seconds : {1e-6, 1e-4, 0.003, 0.04, 0.1, 5.0}) {
    Pace pace;
    double longest = 0;
    for (int wait = 0; wait < 10; ++wait) {
      const int steps = steps_until_due(pace);
      if (wait == 0) {
        EXPECT_EQ(steps, 1);
      }
      longest = steps * step_seconds;
      pace.waited(longest);
    }
    EXPECT_LE(longest, std::max(1.01 * Pace::kSeconds, step_seconds));
    EXPECT_GE(longest, std::min(Pace::kSeconds / 2, step_seconds));
  }
}

TEST(Pace, FollowsStepsThatGrowLonger) {
  Pace pace;
  for (int wait = 0; wait < 10; ++wait) pace.waited(steps_until_due(pace) * 1e-5);
  const int many = steps_until_due(pace);
  pace.waited(many * 1e-2);
  EXPECT_LE(steps_until_due(pace) * 1e-2, 1.01 * Pace::kSeconds);
}

TEST(Stride, BeginsWithOneLayerAndGrowsToWhatTakesTheSeconds) {
  Stride stride(1000, 5);
  std::vector<Index> layers;
  for (int i = 0; i < 8; ++i) {
    layers.push_back(stride.layers());
    stride.took(stride.layers(), 0.2 * stride.layers());
  }
  EXPECT_EQ(layers, (std::vector<Index>{1, 2, 4, 8, 16, 25, 25, 25}));
}

TEST(Stride, TakesNoMoreLayersThanItTakesToComeToAMoment) {
  Stride stride(1000, 5);
  EXPECT_EQ(stride.layers_within(1e9), 1U);
  for (int i = 0; i < 8; ++i) stride.took(stride.layers(), 0.2 * stride.layers());
  ASSERT_EQ(stride.layers(), 25U);
  EXPECT_EQ(stride.layers_within(std::numeric_limits<double>::infinity()), 25U);
  EXPECT_EQ(stride.layers_within(4.9), 25U);
  EXPECT_EQ(stride.layers_within(1.9), 10U);  // the moment is within the last of them
  EXPECT_EQ(stride.layers_within(0.1), 1U);
  EXPECT_EQ(stride.layers_within(0), 1U);
  EXPECT_EQ(stride.layers_within(-3), 1U);
}

TEST(Stride, IsAtLeastOneLayerAndAtMostAllThatItMayBe) {
  Stride slow(1000, 5);
  slow.took(1, 60);
  EXPECT_EQ(slow.layers(), 1U);
  Stride quick(6, 5);
  for (int i = 0; i < 5; ++i) quick.took(quick.layers(), 0);
  EXPECT_EQ(quick.layers(), 6U);
  quick.took(6, 30);  // later layers may take longer
  EXPECT_EQ(quick.layers(), 1U);
  Stride of_few_layers(0, 5);
  of_few_layers.took(1, 0.001);
  EXPECT_EQ(of_few_layers.layers(), 1U);
}

}  // namespace
}  // namespace spdnn
