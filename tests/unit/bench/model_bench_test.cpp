#include "bench/model_bench.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/text/json_text.hpp"
#include "support/printed_json.hpp"

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
  EXPECT_EQ(found.ratio->min, 1.5);
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

TEST(ModelBench, RunsAreSortedAndTheRatiosOfTurnsSpread) {
  double next = 9;
  const Side slower = [&](Index runs) { return std::vector<double>(runs, next += 3); };
  const Side faster = [](Index runs) { return std::vector<double>(runs, 4.0); };
  const InTurns faster_first = time_in_turns({faster, slower}, {.warm_up = 0, .runs = 3});
  EXPECT_EQ(faster_first.sides[1].seconds, (std::vector<double>{15, 18, 21}));
  next = 24;
  const Side faster_and_faster = [&](Index runs) { return std::vector<double>(runs, next -= 4); };
  const InTurns found = time_in_turns({faster_and_faster, faster}, {.warm_up = 0, .runs = 4});
  EXPECT_EQ(found.sides[0].seconds, (std::vector<double>{4, 8, 12, 16}));
  EXPECT_EQ(found.ratio->min, 1);
  EXPECT_EQ(found.ratio->median, 2);
  EXPECT_EQ(found.ratio->max, 4);
}

TEST(ModelBench, JsonOfTimesHasEachQuantileUnderItsName) {
  TimedRuns runs;
  for (int i = 1; i <= 200; ++i) runs.seconds.push_back(i);
  EXPECT_EQ(runs.json(50),
            (Json{{"runs", 200},
                  {"seconds", {{"min", 1.0}, {"p50", 100.0}, {"p90", 180.0}, {"p99", 198.0}, {"max", 200.0}}},
                  {"images_per_second", 0.5}}));
}

/// onnxruntime's outputs, its times in a row of their own, and a remark where some threads have nothing to do.
TEST(ModelBench, TextHasOursTheOthersAndTheirRatio) {
  ModelTiming timing = timing_of({0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.016});
  timing.variant = "sparse";
  timing.threads = timing.computing_threads = 4;
  timing.load = 0.625;
  const std::string ours =
      "sparse                    8        4      10      5.000      9.000     16.000       1600.0   0.62\n";
  EXPECT_EQ(timing_text(timing), ours);
  timing.computing_threads = 3;
  timing.with = PeerTiming{.version = "1.2", .host = "node", .times = {{0.002, 0.01}}, .turns = 7};
  timing.with->ratio = {0.25, 0.5, 0.75, 0};
  timing.with->outputs.largest_deviation = 0.125;
  timing.with->outputs.largest_expected = 3;
  timing.with->outputs.largest_excess = 1;
  const std::string theirs =
      "  computed by 3 of 4 threads, as nodes are small\n"
      "onnxruntime 1.2           8        4       2      2.000     10.000     10.000       4000.0       \n"
      "  time of sparse / onnxruntime: 0.500 (0.250 to 0.750 in 7 turns); outputs ";
  EXPECT_EQ(timing_text(timing), ours + theirs + "agree: 0.125 apart, up to 3\n");
  EXPECT_TRUE(timing.right());
  timing.with->outputs.largest_excess = 1.01;
  EXPECT_EQ(timing_text(timing), ours + theirs + "DIFFER: 0.125 apart, up to 3\n");
  EXPECT_FALSE(timing.right());
  timing.precision = Precision::bf16;
  EXPECT_TRUE(timing.right()) << "below fp32 outputs may differ";
}

TEST(ModelBench, LinesHaveAllThatWasMeasured) {
  ModelTiming timing = timing_of({0.5, 1, 2});
  timing.variant = "sparse";
  timing.precision = Precision::bf16;
  timing.threads = 4;
  timing.computing_threads = 3;
  timing.load = 0.625;
  timing.layers = {{"first", "relu", 0.25}, {"second", "add", 0.125}};
  timing.with = PeerTiming{.version = "1.2", .host = "node", .written = true, .times = {{0.25, 4}}, .turns = 7};
  timing.with->ratio = {0.25, 0.5, 0.75, 0};
  timing.with->outputs.largest_deviation = 0.125;
  timing.with->outputs.largest_expected = 3;
  ModelBench bench;
  bench.path = "a.onnx";
  Json line = timing_json(bench, timing);
  EXPECT_EQ(line["machine"]["threads"], 4);
  line.erase("machine");
  line.erase("build");
  EXPECT_EQ(
      line,
      parse_json(R"({"schema":"spdnn-model-bench-1","model":"a.onnx","variant":"sparse","precision":"bf16","batch":8,)"
                 R"("runs":3,"seconds":{"min":0.5,"p50":1.0,"p90":2.0,"p99":2.0,"max":2.0},"images_per_second":8.0,)"
                 R"("load":0.625,"computing_threads":3,"layers":[{"name":"first","operation":"relu","seconds":0.25},)"
                 R"({"name":"second","operation":"add","seconds":0.125}],"with":{"name":"onnxruntime","version":"1.2",)"
                 R"("host":"node","file":"written","runs":2,"seconds":{"min":0.25,"p50":0.25,"p90":4.0,"p99":4.0,)"
                 R"("max":4.0},"images_per_second":32.0,"turns":7,"ratio":{"min":0.25,"median":0.5,"max":0.75},)"
                 R"("outputs":{"largest_difference":0.125,"largest_expected":3.0,"agree":true}}})"));
  timing.with->written = false;
  timing.with->outputs.largest_deviation = INFINITY;
  timing.with->outputs.largest_excess = INFINITY;
  timing.layers.clear();
  const Json other = timing_json(bench, timing);
  EXPECT_EQ(other["with"]["file"], "given");
  EXPECT_EQ(other["with"]["outputs"],
            parse_json(R"({"largest_difference":null,"largest_expected":3.0,"agree":false})"));
  EXPECT_EQ(other["layers"], nullptr);
  timing.with.reset();
  EXPECT_EQ(timing_json(bench, timing)["with"], nullptr);
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
