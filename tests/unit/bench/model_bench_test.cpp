#include "bench/model_bench.hpp"

#include <gtest/gtest.h>

namespace spdnn::bench {
namespace {

ModelTiming timing_of(std::vector<double> seconds) {
  ModelTiming timing;
  timing.batch = 8;
  timing.seconds = std::move(seconds);
  return timing;
}

TEST(ModelBench, QuantilesAreTimesThatSharesOfTheRunsDoNotExceed) {
  EXPECT_EQ(timing_of({3}).quantile(0.5), 3);
  EXPECT_EQ(timing_of({3}).quantile(0.99), 3);
  EXPECT_EQ(timing_of({1, 2}).quantile(0.5), 1);
  EXPECT_EQ(timing_of({1, 2, 3}).quantile(0.5), 2);
  const ModelTiming ten = timing_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(ten.quantile(0.9), 9);
  EXPECT_EQ(ten.quantile(0.91), 10);
  EXPECT_EQ(ten.quantile(1), 10);
  EXPECT_EQ(ten.images_per_second(), 8 / 5.0);
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
