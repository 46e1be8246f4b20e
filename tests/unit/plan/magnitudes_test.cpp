// The bounds of a network's sums, by hand.

#include "plan/magnitudes.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "plan/image_facts.hpp"
#include "plan/planner.hpp"
#include "support/plan_nets.hpp"
#include "support/streamed.hpp"

namespace spdnn {
namespace {

using plan_tests::bias_of;
using plan_tests::make_layer;
using planning::RowBounds;

void expect_just_above(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_GE(found[k], expected[k]) << k;
    EXPECT_LE(found[k], expected[k] * (1 + 1e-5)) << k;
  }
}

/// Rows with sums of absolute weights 5 and 1, then 6 and 2.
Network bounded_network(std::optional<double> cap) {
  return {{make_layer(3, {{{0, 2.0F}, {2, -3.0F}}, {{1, 1.0F}}}, bias_of({-4, 0.5})),
           make_layer(2, {{{0, -2.0F}, {1, -2.0F}, {0, -2.0F}}, {{1, -2.0F}}}, {7, {}}, true)},
          BiasRule::everywhere,
          cap};
}

TEST(PlanMagnitudes, AreProductsOfTheLargestRowAndTheLargestBias) {
  const Plan plan = make_plan(bounded_network({}), {});
  const auto found = planning::magnitudes(plan, 1.5, RowBounds::exact);
  expect_just_above(found.inputs, {1.5, 11.5});
  expect_just_above(found.sums, {1.5 * 5 + 4, 11.5 * 6 + 7});
  const auto rough = planning::magnitudes(plan, 1.5, RowBounds::rough);
  expect_just_above(rough.inputs, {1.5, 17.5});
  expect_just_above(rough.sums, {1.5 * 9 + 4, 17.5 * 8 + 7});
  const auto small = planning::magnitudes(plan, 0.25, RowBounds::exact);
  expect_just_above(small.inputs, {0.25, 9});
  expect_just_above(small.sums, {5 + 4, 9 * 6 + 7});
  const Plan capped = make_plan(bounded_network(10), {});
  expect_just_above(planning::magnitudes(capped, 1.5, RowBounds::exact).inputs, {1.5, 10});
  expect_just_above(planning::magnitudes(capped, 1.5, RowBounds::exact).sums, {11.5, 67});
  const Plan streamed = testing::streamed_plan(testing::stream_of(bounded_network(10)), {}, 2);
  expect_just_above(planning::magnitudes(streamed, 1.5, RowBounds::rough).sums, {11.5, 67});
}

TEST(PlanMagnitudes, ANeuronsValueIsTheSumOfWhatAnImageRepeats) {
  ImageFacts images{.bits = false, .largest = 0.5, .most_entries = 4};
  EXPECT_EQ(planning::largest_value(images, RowBounds::exact), 0.5);
  EXPECT_EQ(planning::largest_value(images, RowBounds::rough), 2);
  images.repeats = true;
  EXPECT_EQ(planning::largest_value(images, RowBounds::exact), 2);
  const ImageFacts bits{.bits = true, .largest = 1};
  for (const RowBounds bounds : {RowBounds::exact, RowBounds::rough})
    EXPECT_EQ(planning::largest_value(bits, bounds), 1);
  EXPECT_EQ(planning::largest_of(std::vector<float>{-3, 2, -0.0F}), 3);
  EXPECT_EQ(planning::largest_of({}), 0);
}

}  // namespace
}  // namespace spdnn
