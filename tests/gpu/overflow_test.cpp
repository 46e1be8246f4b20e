// Sums beyond the largest number on the device: every variant records them, or refuses to run if they are possible.
// Also the counts of images alive with `merge`, which runs some images twice.

#include "engines/overflow.hpp"

#include <gtest/gtest.h>

#include "gpu/cuda_variants.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/overflowing.hpp"

namespace spdnn::cuda {
namespace {

using testing::OverflowingCase;

RunOptions fp32_options() {
  RunOptions options;
  options.engine.precision = Precision::fp32;
  return options;
}

bool takes_overflow(const Variant& variant, const Plan& plan, const ImageSet& images) {
  return support_of(variant, plan, batch_info(images), {.may_overflow = true}).takes();
}

TEST(OverflowTest, IsNotedByEveryVariantThatTakesThePlan) {
  int noted = 0;
  for_each_cuda_variant([&](const Variant& variant) {
    for (const OverflowingCase& c : testing::overflowing_cases()) {
      for (const char* passes : {"none", "dead", "all"}) {
        SCOPED_TRACE(c.name + ", " + passes);
        const Plan plan = make_plan(c.network, parse_passes(passes));
        RunOptions options = fp32_options();
        for (const Index batch : {0U, 4U}) {
          options.batch = batch;
          if (!takes_overflow(variant, plan, c.images)) {
            EXPECT_THROW(run(variant, plan, c.images, options), UsageError);
          } else {
            EXPECT_EQ(run(variant, plan, c.images, options).outcome.overflow, c.in_fp32);
            ++noted;
          }
        }
      }
    }
  });
  EXPECT_GT(noted, 100);
}

/// Images whose rows become equal, half of which have overflowed before.
TEST(OverflowTest, DuplicatesOverflowToo) {
  const auto overflowing = testing::duplicates_that_overflow();
  for_each_cuda_variant([&](const Variant& variant) {
    for (const char* passes : {"none", "identical", "dead,identical"}) {
      SCOPED_TRACE(passes);
      const Plan plan = make_plan(overflowing.network, parse_passes(passes));
      if (!takes_overflow(variant, plan, overflowing.images)) continue;  // tested above
      EXPECT_EQ(run(variant, plan, overflowing.images, fp32_options()).outcome.overflow, overflowing.expected);
    }
  });
}

TEST(OverflowTest, WithMergeEveryImageIsCountedOnce) {
  int borderline = 0;
  int counted = 0;
  for_each_cuda_variant([&](const Variant& variant) {
    for (const auto& [network, images] : testing::networks_to_merge()) {
      const Plan plain = make_plan(network, parse_passes("dead"));
      if (!support_of(variant, plain, batch_info(images), fp32_options().engine).takes()) continue;
      const Outcome expected = run(variant, plain, images, fp32_options()).outcome;
      for (const char* passes : {"twins,merge", "twins,merge,dead", "twins,merge,dead,saturated,identical"}) {
        SCOPED_TRACE(passes);
        const Plan plan = make_plan(network, parse_passes(passes));
        ASSERT_TRUE(plan.passes.merge);
        if (!support_of(variant, plan, batch_info(images), fp32_options().engine).takes()) continue;
        const Outcome outcome = run(variant, plan, images, fp32_options()).outcome;
        EXPECT_EQ(outcome.categories, expected.categories);
        if (!outcome.alive.empty()) {
          EXPECT_EQ(outcome.alive, expected.alive);
          ++counted;
        }
        borderline += outcome.borderline.empty() ? 0 : 1;
      }
    }
  });
  EXPECT_GT(borderline, 5);
  EXPECT_GT(counted, borderline / 2);
}

}  // namespace
}  // namespace spdnn::cuda
