// After how many steps a run that may be stopped waits for its device.

#include "inference/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace spdnn
