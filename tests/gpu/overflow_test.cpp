// Sums beyond the largest number on the device: every variant notes them, or refuses to run where there may be some.
// And the counts of images alive with `merge`, which runs some images twice.

#include "engines/overflow.hpp"

#include "gpu/on_device.hpp"
#include "inference/run.hpp"
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

class OverflowTest : public OnDevice {
 protected:
  template <class Work>
  static void for_each_variant(const Work& work) {
    for (const Variant& variant : variants()) {
      if (variant.device != Device::cuda) continue;
      SCOPED_TRACE(variant.name);
      work(variant);
    }
  }
};

TEST_F(OverflowTest, IsNotedByEveryVariantThatTakesThePlan) {
  int noted = 0;
  for_each_variant([&](const Variant& variant) {
    const bool refuses = variant.name == "resident" || variant.name == "cascade";
    for (const OverflowingCase& c : testing::overflowing_cases()) {
      for (const char* passes : {"none", "dead", "all"}) {
        SCOPED_TRACE(c.name + ", " + passes);
        const Plan plan = make_plan(c.network, parse_passes(passes));
        RunOptions options = fp32_options();
        for (const Index batch : {0U, 4U}) {
          options.batch = batch;
          if (refuses) {
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
TEST_F(OverflowTest, CopiesOverflowWhereTheirOwnersDo) {
  const auto [network, images, expected] = testing::copies_that_overflow();
  for_each_variant([&](const Variant& variant) {
    if (variant.name == "resident" || variant.name == "cascade") return;
    for (const char* passes : {"none", "identical", "dead,identical"}) {
      SCOPED_TRACE(passes);
      const Plan plan = make_plan(network, parse_passes(passes));
      EXPECT_EQ(run(variant, plan, images, fp32_options()).outcome.overflow, expected);
    }
  });
}

TEST_F(OverflowTest, WithMergeEveryImageIsCountedOnce) {
  int borderline = 0;
  for_each_variant([&](const Variant& variant) {
    if (variant.name == "cascade") return;  // takes no merged plan
    for (const auto& [network, images] : testing::networks_to_merge()) {
      const Outcome expected = run(variant, make_plan(network, parse_passes("dead")), images, fp32_options()).outcome;
      for (const char* passes : {"twins,merge", "twins,merge,dead", "twins,merge,dead,saturated,identical"}) {
        SCOPED_TRACE(passes);
        const Plan plan = make_plan(network, parse_passes(passes));
        ASSERT_TRUE(plan.passes.merge);
        const Outcome outcome = run(variant, plan, images, fp32_options()).outcome;
        EXPECT_EQ(outcome.categories, expected.categories);
        EXPECT_EQ(outcome.alive.back(), static_cast<std::int64_t>(outcome.categories.size()));
        for (std::size_t layer = 0; layer < outcome.alive.size(); ++layer) {
          if (variant.name == "resident" && layer + 1 < outcome.alive.size())
            EXPECT_EQ(outcome.alive[layer], -1) << "it cannot tell";
          else
            EXPECT_EQ(outcome.alive[layer], expected.alive[layer]) << "after layer " << layer + 1;
        }
        borderline += outcome.borderline.empty() ? 0 : 1;
      }
    }
  });
  EXPECT_GT(borderline, 5);
}

}  // namespace
}  // namespace spdnn::cuda
