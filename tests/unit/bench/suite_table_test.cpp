// What `bench suite` guesses of the time that is left. tests/cli/suite.bats has the rest of it.

#include "bench/suite_table.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(duration_text(100), "2 min");
  EXPECT_EQ(duration_text(5400), "1.5 h");
}

}  // namespace
}  // namespace spdnn::bench
