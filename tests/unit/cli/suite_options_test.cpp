// The options of `spdnn bench suite` become the fields of a specification, each its own.

#include "cli/suite_options.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn::cli {
namespace {

bench::SuiteSpec suite_of(const Arguments& arguments) {
  po::variables_map values;
  EXPECT_TRUE(parse(arguments, bench_suite_form(), values));
  return suite_spec(values);
}

std::string refused_suite(const Arguments& arguments) {
  return testing::message_of<UsageError>([&] { suite_of(arguments); });
}

std::string configurations_text(const bench::SuiteSpec& spec) {
  std::string text;
  for (const bench::SuiteConfiguration& one : spec.configurations)
    text += fmt::format("{} {} {} {};", one.neurons, one.layers, one.reduce, one.variant);
  return text;
}

TEST(SuiteOptions, EachHasItsField) {
  const bench::SuiteSpec spec = suite_of({"--neurons",     "4096,1024",
                                          "--layers",      "2,7",
                                          "--reduce",      "dead",
                                          "--reduce",      "none",
                                          "--variant",     "cpu_openmp,auto",
                                          "--images",      "11",
                                          "--repetitions", "4",
                                          "--trials",      "5",
                                          "--warm-up",     "0",
                                          "--device",      "cpu",
                                          "--precision",   "fp64",
                                          "--threads",     "3",
                                          "--ranks",       "6",
                                          "--launcher",    "start {ranks}",
                                          "--verify",      "8",
                                          "--limit",       "9.5",
                                          "--budget",      "10.5",
                                          "--scratch",     "kept",
                                          "--json",        "s.jsonl",
                                          "--dry-run"});
  EXPECT_EQ(configurations_text(spec),
            "4096 2 dead cpu_openmp;4096 7 dead cpu_openmp;4096 2 dead auto;4096 7 dead auto;"
            "4096 2 none cpu_openmp;4096 7 none cpu_openmp;4096 2 none auto;4096 7 none auto;"
            "1024 2 dead cpu_openmp;1024 7 dead cpu_openmp;1024 2 dead auto;1024 7 dead auto;"
            "1024 2 none cpu_openmp;1024 7 none cpu_openmp;1024 2 none auto;1024 7 none auto;")
      << "depths of one network are adjacent";
  EXPECT_EQ(spec.images, 11U);
  EXPECT_EQ(spec.repetitions, 4U);
  EXPECT_EQ(spec.trials, "5");
  EXPECT_EQ(spec.warm_up, "0");
  EXPECT_EQ(spec.device, "cpu");
  EXPECT_EQ(spec.precision, "fp64");
  EXPECT_EQ(spec.threads, "3");
  EXPECT_EQ(spec.ranks, 6U);
  EXPECT_EQ(spec.launcher, "start {ranks}");
  EXPECT_EQ(spec.verify, 8U);
  EXPECT_EQ(spec.limit_seconds, 9.5);
  EXPECT_EQ(spec.budget_seconds, 10.5);
  EXPECT_EQ(spec.scratch, "kept");
  EXPECT_EQ(spec.json, "s.jsonl");
  EXPECT_TRUE(spec.dry_run);
  EXPECT_EQ(spec.mnist, "");
}

TEST(SuiteOptions, WithoutThemTheOfficialProblemsRun) {
  const bench::SuiteSpec spec = suite_of({});
  EXPECT_EQ(
      configurations_text(spec),
      "1024 120 all auto;1024 480 all auto;1024 1920 all auto;4096 120 all auto;4096 480 all auto;4096 1920 all "
      "auto;16384 120 all auto;16384 480 all auto;16384 1920 all auto;65536 120 all auto;65536 480 all auto;65536 "
      "1920 all auto;");
  EXPECT_EQ(spec.images, 60000U);
  EXPECT_EQ(spec.repetitions, 3U);
  EXPECT_EQ(spec.trials, "20");
  EXPECT_EQ(spec.warm_up, "1");
  EXPECT_EQ(spec.device, "auto");
  EXPECT_EQ(spec.verify, 64U);
  EXPECT_EQ(spec.ranks, 1U);
  EXPECT_FALSE(spec.precision || spec.threads || spec.launcher || spec.limit_seconds || spec.budget_seconds ||
               spec.json || spec.dry_run);
  EXPECT_TRUE(spec.scratch.empty());
  EXPECT_EQ(suite_of({"--mnist", "m"}).mnist, "m");
  EXPECT_EQ(suite_of({"--ranks", "4"}).launcher, "mpirun -np {ranks}");
}

TEST(SuiteOptions, ThatAreWrongAreNamed) {
  EXPECT_EQ(refused_suite({"--neurons", "1024,1024"}), "--neurons: 1024 is given twice");
  EXPECT_EQ(refused_suite({"--neurons", "1000"}), "--neurons: 1000 is not one of 1024, 4096, 16384, 65536");
  EXPECT_EQ(refused_suite({"--layers", "2,4,2"}), "--layers: 2 is given twice");
  EXPECT_EQ(refused_suite({"--variant", "auto,cpu_openmp,auto"}), "--variant: auto is given twice");
  EXPECT_EQ(refused_suite({"--reduce", "all", "--reduce", "all"}), "--reduce: all is given twice");
  EXPECT_EQ(refused_suite({"--mnist", "m", "--images", "3"}), "--images cannot be used with --mnist");
  EXPECT_EQ(refused_suite({"--launcher", "x"}), "--launcher needs --ranks");
  for (const char* const option : {"--limit", "--budget"})
    for (const char* const value : {"0", "-1"})
      EXPECT_EQ(refused_suite({option, value}), fmt::format("{}: {} is not positive", option, value));
  for (const char* const option :
       {"--repetitions", "--trials", "--verify", "--ranks", "--images", "--threads", "--layers"})
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, fmt::format("{}: 0 is outside 1..", option),
                        refused_suite({option, "0"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--warm-up: ", refused_suite({"--warm-up", "-1"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--precision: 'fp8' is not one of",
                      refused_suite({"--precision", "fp8"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--device: 'tpu' is neither", refused_suite({"--device", "tpu"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "sideways", refused_suite({"--variant", "sideways"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "sideways", refused_suite({"--reduce", "sideways"}));
  EXPECT_NE(refused_suite({"--ranks", "2", "--launcher", " "}), "no error") << "a launcher of blanks";
}

}  // namespace
}  // namespace spdnn::cli
