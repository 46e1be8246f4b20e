// What `bench suite` asks of its runs, reads of their lines and shows in its table, and what it guesses of the time
// that is left. tests/cli/suite.bats has the rest of it.

#include "bench/suite_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "bench/child_run.hpp"
#include "bench/suite_lines.hpp"
#include "core/text/json_text.hpp"
#include "support/printed_json.hpp"

namespace spdnn::bench {
namespace {

/// Of 100, 200 and 1000 units of edges.
SuiteSpec three() {
  SuiteSpec spec;
  spec.configurations = {{100, 1, "all", "auto"}, {100, 2, "all", "auto"}, {100, 10, "all", "auto"}};
  return spec;
}

TEST(RunTimes, NothingIsGuessedBeforeTheFirstRun) {
  const SuiteSpec spec = three();
  EXPECT_EQ(RunTimes(spec).estimate({1, 1, 1}), std::nullopt);
}

TEST(RunTimes, WhatHasRunTakesAsLongAgainAndOthersByTheirEdges) {
  const SuiteSpec spec = three();
  RunTimes times(spec);
  times.add(0, 2.0);
  times.add(0, 4.0);
  EXPECT_EQ(times.estimate({1, 0, 0}), 3.0);
  EXPECT_EQ(times.estimate({2, 1, 1}), 2 * 3.0 + 6.0 + 30.0);
  times.add(1, 10.0);  // 16 s for 400 units
  EXPECT_EQ(times.estimate({0, 3, 1}), 3 * 10.0 + 40.0);
  EXPECT_EQ(times.estimate({0, 0, 0}), 0.0);
}

TEST(RunTimes, NoRunTakesLongerThanItsLimit) {
  SuiteSpec spec = three();
  spec.limit_seconds = 20;
  RunTimes times(spec);
  times.add(0, 3.0);
  EXPECT_EQ(times.estimate({1, 1, 1}), 3.0 + 6.0 + 20.0);
}

TEST(RunTimes, ADurationHasAUnitThatFits) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(89), "89 s");
  EXPECT_EQ(duration_text(90), "2 min");
  EXPECT_EQ(duration_text(5400), "1.5 h");
}

/// Everything away from its default.
SuiteSpec asked_for() {
  SuiteSpec spec;
  spec.images = 77;
  spec.trials = "5";
  spec.warm_up = "2";
  spec.device = "cpu";
  spec.precision = "fp64";
  spec.threads = "3";
  spec.launcher = "run {ranks}";
  spec.ranks = 4;
  spec.verify = 9;
  return spec;
}

TEST(SuiteSpec, ARunGetsAllThatWasAskedFor) {
  SuiteSpec spec = asked_for();
  const SuiteConfiguration one{4096, 120, "dead", "tiles"};
  const auto options = [&] { return fmt::format("{}", fmt::join(spec.command(one, "im ages", "out.json"), "|")); };
  const std::string program = infer_command({}, 1).front();
  EXPECT_EQ(options(),
            "run|4|" + program +
                "|infer|--generate|official|--neurons|4096|--layers|120|--inputs|im ages|--reduce|dead|"
                "--variant|tiles|--trials|5|--warm-up|2|--device|cpu|--precision|fp64|--threads|3|--verify|9|"
                "--device-state|--json|out.json|--progress|never");
  EXPECT_EQ(one.name(), "4096 x 120, dead, tiles");
  spec.precision.reset();
  spec.threads.reset();
  spec.launcher.reset();
  spec.mnist = "mnist";
  EXPECT_EQ(options(), program +
                           "|infer|--generate|official|--neurons|4096|--layers|120|--inputs|im ages|--reduce|dead|"
                           "--variant|tiles|--trials|5|--warm-up|2|--device|cpu|--device-state|--json|out.json|"
                           "--progress|never");
}

TEST(SuiteSpec, ALineSaysWhatWasAskedFor) {
  SuiteSpec spec = asked_for();
  const SuiteConfiguration one{4096, 120, "dead", "tiles"};
  Json expected{{"neurons", 4096},
                {"layers", 120},
                {"reduce", "dead"},
                {"variant", "tiles"},
                {"images", 77},
                {"official_images", false},
                {"trials", 5},
                {"warm_up", 2},
                {"device", "cpu"},
                {"precision", "fp64"},
                {"threads", 3},
                {"ranks", 4},
                {"launcher", "run {ranks}"},
                {"verify", 9}};
  EXPECT_EQ(spec.asked(one), expected);
  EXPECT_EQ(spec.images_name(4096), "images-4096-digits-77.spdnn");
  spec.mnist = "mnist";
  expected["official_images"] = true;
  expected["verify"] = nullptr;  // as the categories are known
  spec.threads.reset();
  expected["threads"] = nullptr;
  EXPECT_EQ(spec.asked(one), expected);
  EXPECT_EQ(spec.images_name(4096), "images-4096-official.spdnn");
  EXPECT_TRUE(spec.recomputes({4096, 121, "dead", "tiles"})) << "those of no official depth are not";
}

const char* const suite_line =
    R"({"variant":"tiles","rate":4e12,"rate_computed":3e12,"rate_with_setup":2e12,"rate_end_to_end":1e12,)"
    R"("seconds":{"infer":{"min":0.001,"median":0.002,"max":0.004}},"verdict":{"status":"PASSED"}})";

TEST(SuiteTable, HasAllThatWasMeasuredAndWhatWasNot) {
  SuiteSpec spec = three();
  spec.repetitions = 3;
  std::vector<ConfigurationResults> all(3);
  all[0].results = {3, suite_result(parse_json(suite_line))};
  all[0].results[1].infer = {0.0005, 0.003, 0.006, 0};
  all[0].results[2].infer = {0.002, 0.0025, 0.003, 0};
  all[0].results[1].rate_with_setup = 2.5e12;
  all[0].results[2].rate = 5e12;
  all[0].results[2].verdict = "UNVERIFIED";
  Json not_counted = parse_json(suite_line);
  not_counted["rate_computed"] = nullptr;
  all[1].results = {suite_result(not_counted)};
  all[1].given_up = "it was slow";
  EXPECT_EQ(suite_table(spec, all),
            "neurons layers  passes                     variant                  runs  infer (ms)         min         "
            "max rate (TE/s)    computed with set-up  end to end  verdict\n"
            "    100      1  all                        tiles                       3      2.5000      0.5000      "
            "6.0000           4           3           2           1  UNVERIFIED\n"
            "    100      2  all                        tiles                       1      2.0000      1.0000      "
            "4.0000           4           -           2           1  PASSED\n"
            "not run: 100 x 2, all, auto, 2 of 3 repetitions: it was slow\n"
            "not run: 100 x 10, all, auto, 3 of 3 repetitions: not started\n");
  EXPECT_EQ(suite_table(spec, std::vector<ConfigurationResults>(1)),
            "not run: 100 x 1, all, auto, 3 of 3 repetitions: not started\n");
}

TEST(SuiteLines, AMachineIsTheSameByAllThatALineSaysOfIt) {
  const Json gpu{{"host", "h"}, {"cpu", "C"}, {"device", "D"}, {"driver", "R"}, {"cuda", "12"}, {"ranks", 2}};
  EXPECT_TRUE(same_machine({{"machine", gpu}}, gpu));
  for (const auto& [field, value] : gpu.items()) {
    Json other = gpu;
    other[field] = "other";
    EXPECT_FALSE(same_machine({{"machine", other}}, gpu)) << field;
  }
  Json cpu = gpu;  // a run on the CPU of a machine that has a device
  cpu["device"] = cpu["driver"] = cpu["cuda"] = nullptr;
  EXPECT_TRUE(same_machine({{"machine", cpu}}, gpu));
  EXPECT_FALSE(same_machine({{"machine", gpu}}, cpu));
  cpu["cpu"] = "other";
  EXPECT_FALSE(same_machine({{"machine", cpu}}, gpu));
}

}  // namespace
}  // namespace spdnn::bench
