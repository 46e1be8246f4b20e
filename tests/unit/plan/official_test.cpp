// The planner on the official 1024 x 120 network, which is generated.

#include <gtest/gtest.h>

#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "support/plan_nets.hpp"
#include "support/shared_data.hpp"

namespace spdnn {
namespace {

using plan_tests::expands_to;
using plan_tests::run_trace;
using plan_tests::Trace;

const Network& official() {
  static const Network network = generate_official_network(1024, 120);
  return network;
}

TEST(OfficialPlan, DistinctNeuronsAreASixteenthOrLess) {
  const Plan plan = make_plan(official(), parse_passes("all"));
  for (Index k = 0; k < plan.depth(); ++k)
    EXPECT_EQ(plan.layers[k].outputs(), k % 6 == 5 ? 32U : 64U) << "layer " << k + 1;
  EXPECT_EQ(plan.edges(), official().edges() / 1024 * (5 * 64 + 32) / 6);
  EXPECT_EQ(plan.certificates.dead_from, 0U);
  EXPECT_EQ(plan.certificates.saturated_from, 0U);
  EXPECT_EQ(plan.passes, parse_passes("all"));
}

TEST(OfficialPlan, EveryLayerBitForBit) {
  constexpr Index kImages = 24;
  const ImageSet images = generate_digit_images(1024, kImages, 1);
  const Plan reduced = make_plan(official(), parse_passes("all"));
  const Plan given = make_plan(official(), {});
  for (const Variant& variant : variants()) {
    if (variant.device == Device::cuda) continue;
    const Precision precision = variant.precisions.front();
    const Trace full = run_trace(variant, precision, given, images);
    EXPECT_FALSE(full.outcome.categories.empty()) << "images must survive for the comparison to mean something";
    EXPECT_TRUE(expands_to(reduced, run_trace(variant, precision, reduced, images), full, kImages)) << variant.name;
  }
}

/// With sums of merged terms, images 11866 and 49259 (1-based) stay near the unstable fixed point from which rounding
/// makes them fall.
TEST(OfficialPlan, MergeGetsTheCategoriesRight) {
  if (!exists(shared_mnist())) GTEST_SKIP() << "no MNIST at " << shared_mnist();
  const Plan plan = make_plan(official(), parse_passes("twins,unused,merge,saturated,dead,identical"));
  ASSERT_TRUE(plan.passes.merge);
  const ImageSet images = generate_official_images(read_mnist(shared_mnist()), 1024);
  bool any = false;
  for (const Variant& variant : variants()) {
    if (variant.device == Device::cuda) continue;
    for (const Precision precision : variant.precisions) {
      RunOptions options;
      options.engine.precision = precision;
      if (!support_of(variant, plan, batch_info(images), options.engine).takes()) continue;
      any = true;
      const Outcome outcome = run(variant, plan, images, options).outcome;
      EXPECT_EQ(digest(outcome.categories), official_problem(1024)->category_digest) << variant.name;
      // The engine alone must have found that it cannot decide these two.
      const ImageSet undecided = images.select(std::vector<Index>{11865, 49258});
      const auto engine = testing::engine_for(variant, plan, undecided, options.engine);
      engine->load(undecided);
      engine->advance(0, plan.depth());
      EXPECT_EQ(engine->outcome().borderline, (std::vector<Index>{0, 1})) << variant.name;
    }
  }
  if (!any) GTEST_SKIP() << "no engine of this build takes merged plans";
}

}  // namespace
}  // namespace spdnn
