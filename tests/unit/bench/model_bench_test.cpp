#include "bench/model_bench.hpp"

#include <gtest/gtest.h>

namespace spdnn::bench {
namespace {

ModelTiming timing_of(std::vector<double> seconds) {
  ModelTiming timing;
  timing.batch = 8;
  timing.times.seconds = std::move(seconds);
  return timing;
}

TEST(ModelBench, QuantilesAreTimesThatSharesOfTheRunsDoNotExceed) {
  const auto quantile = [](std::vector<double> seconds, double share) {
    return TimedRuns{std::move(seconds)}.quantile(share);
  };
  EXPECT_EQ(quantile({3}, 0.5), 3);
  EXPECT_EQ(quantile({3}, 0.99), 3);
  EXPECT_EQ(quantile({1, 2}, 0.5), 1);
  EXPECT_EQ(quantile({1, 2, 3}, 0.5), 2);
  const std::vector<double> ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(quantile(ten, 0.9), 9);
  EXPECT_EQ(quantile(ten, 0.91), 10);
  EXPECT_EQ(quantile(ten, 1), 10);
  EXPECT_EQ(timing_of(ten).images_per_second(), 8 / 5.0);
}

/// Two sides whose runs take no time, and say what the test wants.
TEST(ModelBench, TurnsHaveEquallyManyRunsAndChangeWhoBegins) {
  std::string order;
  std::vector<Index> runs_of_a;
  const auto side = [&](char name, double seconds) {
    return [&order, &runs_of_a, name, seconds](Index runs) {
      order += name;
      if (name == 'a') runs_of_a.push_back(runs);
      return std::vector<double>(runs, seconds);
    };
  };
  const InTurns found = time_in_turns({side('a', 0.003), side('b', 0.002)}, {.warm_up = 0, .runs = 21});
  EXPECT_EQ(order.substr(0, 2), "ab");  // the warm-up
  EXPECT_EQ(order.substr(2, 8), "abbaabba");
  EXPECT_EQ(found.turns, 11U);  // of two runs, the last of one
  EXPECT_EQ(runs_of_a.back(), 1U);
  EXPECT_EQ(found.sides[0].seconds.size(), 21U);
  EXPECT_EQ(found.sides[1].seconds.size(), 21U);
  ASSERT_TRUE(found.ratio);
  EXPECT_EQ(found.ratio->median, 1.5);
  order.clear();
  const InTurns alone = time_in_turns({side('c', 1)}, {.warm_up = 0, .runs = 3});
  EXPECT_EQ(order, "cccc");
  EXPECT_FALSE(alone.ratio);
}

/// On a busy machine, the longer a run, the more likely it is interrupted.
TEST(ModelBench, InterruptedRunsDoNotChangeTheRatio) {
  const Side undisturbed = [](Index runs) { return std::vector<double>(runs, 0.003); };
  const Side interrupted = [](Index runs) {
    std::vector<double> seconds(runs, 0.02);
    seconds.back() = 0.002;
    return seconds;
  };
  const InTurns found = time_in_turns({undisturbed, interrupted}, {.warm_up = 0, .runs = 40});
  EXPECT_EQ(found.ratio.value().median, 1.5);
}

TEST(ModelBench, SharesOfLayersAreOfTheirSum) {
  ModelTiming timing = timing_of({1});
  EXPECT_EQ(layers_text(timing), "");
  timing.layers = {{"first", "relu", 0.003}, {"second", "add", 0.001}};
  const std::string text = layers_text(timing);
  EXPECT_NE(text.find("3.0000   75.0%  relu             first\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1.0000   25.0%  add              second\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace spdnn::bench
