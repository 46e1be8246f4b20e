#include <gtest/gtest.h>

#include "engines/choose.hpp"
#include "engines/overflow.hpp"
#include "plan/describe.hpp"
#include "plan/planner.hpp"
#include "plan_nets.hpp"
#include "spdnn/error.hpp"

namespace spdnn {
namespace {

using plan_tests::make_layer;

Network small_network() {
  return {
      {make_layer(4, {{{0, 1.0F}, {1, 1.0F}}, {{0, 1.0F}, {1, 1.0F}}, {}, {{2, 1.0F}}, {{3, 1.0F}}}, {-0.5, {}}, true),
       make_layer(5, {{{0, 0.5F}, {1, 0.5F}, {3, 2.0F}}, {{2, 0.25F}}}, {-0.5, {}})},
      BiasRule::non_zeros,
      32.0};
}

TEST(Describe, CountsWhatThePlanMadeOfEachLayer) {
  const Network network = small_network();
  const auto layers = describe(network, make_plan(network, parse_passes("all")));
  ASSERT_EQ(layers.size(), 2U);

  const LayerDescription& first = layers[0];
  EXPECT_EQ(first.inputs, 4U);
  EXPECT_EQ(first.outputs, 5U);
  EXPECT_EQ(first.edges, 6U);
  EXPECT_EQ(first.min_degree, 0U);
  EXPECT_EQ(first.max_degree, 2U);
  EXPECT_DOUBLE_EQ(first.mean_degree, 1.2);
  EXPECT_DOUBLE_EQ(first.density, 0.3);
  EXPECT_EQ(first.distinct_weights, 1U);
  EXPECT_EQ(first.twins, 1U);
  EXPECT_EQ(first.always_zero, 1U);
  EXPECT_EQ(first.unread, 1U);
  EXPECT_EQ(first.stored_outputs, 2U);
  EXPECT_EQ(first.stored_edges, 3U);

  const LayerDescription& second = layers[1];
  EXPECT_EQ(second.distinct_weights, 3U);
  EXPECT_EQ(second.always_zero, 1U) << "it reads nothing but a zero";
  EXPECT_EQ(second.stored_edges, 3U);
  EXPECT_DOUBLE_EQ(second.distinct_terms, 2.0) << "two of the three terms name the same twin";
}

TEST(Describe, AnUnreducedPlanHasNothingToTell) {
  const Network network = small_network();
  for (const LayerDescription& layer : describe(network, make_plan(network, {}))) {
    EXPECT_EQ(layer.twins + layer.always_zero + layer.unread, 0U);
    EXPECT_EQ(layer.stored_edges, layer.edges);
  }
}

TEST(Choose, TheOracleOnlyWhereNothingElseRuns) {
  const Plan plan = make_plan(small_network(), parse_passes("all"));
  Variant oracle = find_variant("cpu_reference");
  Variant fast = oracle;
  fast.name = "fast";
  fast.description = "quick";
  EXPECT_EQ(choose_variant(plan, {10}, std::vector{oracle, fast}).name, "fast");
  const VariantChoice only = choose_variant(plan, {10}, std::vector{oracle});
  EXPECT_EQ(only.name, "cpu_reference");
  EXPECT_EQ(only.why,
            "the only engine usable here: 2 layers up to 4 neurons wide, 10 images, 60 % of 10 edges left to compute");
  EXPECT_THROW(choose_variant(plan, {10}, {}), UsageError);
  const Plan merged = make_plan(small_network(), parse_passes("twins,merge"));
  ASSERT_TRUE(merged.passes.merge);
  EXPECT_THROW(choose_variant(merged, {10}, std::vector{oracle}), UsageError);
}

/// 64 inputs, and layers of 8 neurons.
Plan narrow_plan(const char* passes) {
  Network network;
  for (const Index inputs : {64U, 8U}) {
    Layer layer;
    layer.weights.rows = 8;
    layer.weights.cols = inputs;
    layer.weights.offsets = Array<Offset>(std::vector<Offset>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    layer.weights.indices = Array<Index>(std::vector<Index>{0, 1, 2, 3, 4, 5, 6, 7});
    network.layers.push_back(layer);
  }
  return make_plan(network, parse_passes(passes));
}

TEST(Choose, TheNarrowEngineWhereItIsMadeFor) {
  Variant narrow = find_variant("cpu_reference");
  narrow.name = "cascade";
  Variant wide = narrow;
  wide.name = "resident";
  const std::vector both{narrow, wide};
  EXPECT_EQ(choose_variant(narrow_plan("dead,saturated"), {10}, both).name, "cascade");
  EXPECT_EQ(choose_variant(narrow_plan("dead"), {10}, both).name, "cascade") << "so narrow a tail is no matter";
  EXPECT_EQ(choose_variant(narrow_plan("none"), {10}, both).name, "resident") << "no image leaves";
  EXPECT_EQ(choose_variant(narrow_plan("dead,saturated"), {10, false}, both).name, "resident") << "values";
  EXPECT_EQ(choose_variant(make_plan(small_network(), parse_passes("dead")), {10}, both).name, "resident")
      << "not narrow";
}

TEST(Choose, AnEngineThatNotesOverflowWhereTheOthersWouldHaveTo) {
  Variant blind = find_variant("cpu_reference");
  blind.name = "blind";
  blind.working_bytes = [](const Plan&, const EngineOptions& options, Index) -> std::size_t {
    require_no_overflow(options, "blind");
    return 0;
  };
  Variant watchful = find_variant("cpu_reference");
  watchful.name = "watchful";
  const std::vector both{blind, watchful};
  const Plan plan = make_plan(small_network(), {});
  EXPECT_EQ(choose_variant(plan, {.images = 10}, both).name, "blind");
  EXPECT_EQ(choose_variant(plan, {.images = 10, .may_overflow = true}, both).name, "watchful");
}

}  // namespace
}  // namespace spdnn
