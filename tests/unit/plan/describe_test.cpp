#include "plan/describe.hpp"

#include <gtest/gtest.h>

#include "engines/choose.hpp"
#include "engines/overflow.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/plan_nets.hpp"

namespace spdnn {
namespace {

using plan_tests::small_network;

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
  EXPECT_EQ(second.distinct_weights, 4U);
  EXPECT_EQ(second.always_zero, 1U) << "it reads nothing but a zero";
  EXPECT_EQ(second.stored_edges, 4U);
  EXPECT_DOUBLE_EQ(second.distinct_terms, 1.5)
      << "of two neurons; two of the three terms of the first name the same twin";
}

TEST(Describe, AnUnreducedPlanHasNothingToTell) {
  const Network network = small_network();
  for (const LayerDescription& layer : describe(network, make_plan(network, {}))) {
    EXPECT_EQ(layer.twins + layer.always_zero + layer.unread, 0U);
    EXPECT_EQ(layer.stored_edges, layer.edges);
  }
}

TEST(Describe, ALayerWithoutEntriesHasNoWeights) {
  Network network = small_network();
  CsrMatrix& last = network.layers.back().weights;
  last = CsrMatrix{};
  last.rows = 3;
  last.cols = network.layers.front().outputs();
  last.offsets = std::vector<Offset>(4, 0);
  last.value = 0.5F;
  EXPECT_EQ(describe(network, make_plan(network, {})).back().distinct_weights, 0U);
  EXPECT_EQ(certificate_text(3, 3), "never");
  EXPECT_EQ(certificate_text(2, 3), "from the rows entering layer 3 on");
}

TEST(LayerKinds, DifferInEachNumberAndNameTheirFirstLayer) {
  const LayerDescription usual{.inputs = 9, .outputs = 8, .edges = 7, .min_degree = 1, .max_degree = 2};
  std::vector<LayerDescription> layers(2, usual);
  layers[1].distinct_terms = 3;
  const auto other = [&](auto member) {
    layers.push_back(usual);
    layers.back().*member += 1;
  };
  other(&LayerDescription::inputs);
  other(&LayerDescription::outputs);
  other(&LayerDescription::edges);
  other(&LayerDescription::min_degree);
  other(&LayerDescription::max_degree);
  other(&LayerDescription::distinct_weights);
  other(&LayerDescription::stored_outputs);
  other(&LayerDescription::stored_edges);
  other(&LayerDescription::twins);
  other(&LayerDescription::always_zero);
  other(&LayerDescription::unread);
  layers.push_back(usual);
  layers.back().distinct_terms = 6;
  const std::vector<LayerKind> kinds = kinds_of(layers);
  ASSERT_EQ(kinds.size(), 12U);
  EXPECT_EQ(kinds[0].count, 3U);
  EXPECT_EQ(kinds[0].distinct_terms, 9) << "the sum over its layers";
  for (Index i = 0; i < kinds.size(); ++i) EXPECT_EQ(kinds[i].first, i == 0 ? 1 : i + 2) << i;
}

TEST(Choose, TheOracleOnlyWhereNothingElseRuns) {
  const Plan plan = make_plan(small_network(), parse_passes("all"));
  Variant oracle = find_variant("cpu_reference");
  Variant fast = oracle;
  fast.name = "fast";
  fast.description = "quick";
  fast.support = [](const Plan&, const BatchInfo&, const EngineOptions&) { return Support{}; };
  EXPECT_EQ(choose_variant(plan, {10}, {}, std::vector<const Variant*>{&oracle, &fast}).variant->name, "fast");
  const VariantChoice only = choose_variant(plan, {10}, {}, std::vector<const Variant*>{&oracle});
  EXPECT_EQ(only.variant->name, "cpu_reference");
  EXPECT_EQ(
      only.why,
      "no fast engine supports this run: 2 layers up to 4 neurons wide, 10 images, 58.3 % of 12 edges left to compute");
  EXPECT_THROW(choose_variant(plan, {10}, {}, {}), UsageError);
  const Plan merged = make_plan(small_network(), parse_passes("twins,merge"));
  ASSERT_TRUE(merged.passes.merge);
  EXPECT_THROW(choose_variant(merged, {10}, {}, std::vector<const Variant*>{&oracle}), UsageError);
}

/// A variant with this answer for every plan.
template <class Says>
Variant variant_that(std::string_view name, Says) {
  Variant variant = find_variant("cpu_reference");
  variant.name = name;
  variant.precisions = {Precision::fp32, Precision::fp16};
  variant.support = [](const Plan&, const BatchInfo& batch, const EngineOptions& options) {
    return Says()(batch, options);
  };
  return variant;
}

TEST(Choose, ThePreferredOneBeforeTheFirst) {
  const Plan plan = make_plan(small_network(), {});
  const Variant last = variant_that(
      "last", [](const BatchInfo&, const EngineOptions&) { return Support{.preference = Preference::last_resort}; });
  const Variant second = variant_that("second", [](const BatchInfo& batch, const EngineOptions&) {
    return Support{.why_not = batch.binary ? "" : "second: values"};
  });
  const Variant third = variant_that("third", [](const BatchInfo&, const EngineOptions&) { return Support{}; });
  const std::vector all{&last, &second, &third};
  EXPECT_EQ(choose_variant(plan, {10, true, true}, {}, all).variant->name, "second");
  EXPECT_EQ(choose_variant(plan, {10, false, false}, {}, all).variant->name, "third");
  EXPECT_EQ(choose_variant(plan, {10, false, false}, {}, std::vector{&last, &second}).variant->name, "last");
}

TEST(Choose, AnEngineThatNotesOverflowWhereTheOthersWouldHaveTo) {
  const Variant blind = variant_that("blind", [](const BatchInfo&, const EngineOptions& options) {
    return Support{.why_not = reason_not_to_watch(options, "blind")};
  });
  const Variant watchful = variant_that("watchful", [](const BatchInfo&, const EngineOptions&) { return Support{}; });
  const std::vector both{&blind, &watchful};
  const Plan plan = make_plan(small_network(), {});
  EXPECT_EQ(choose_variant(plan, {10}, {}, both).variant->name, "blind");
  EXPECT_EQ(choose_variant(plan, {10}, {.may_overflow = true}, both).variant->name, "watchful");
}

TEST(Choose, TheOptionsReachEveryEngine) {
  const Variant halves = variant_that("halves", [](const BatchInfo&, const EngineOptions& options) {
    return Support{.why_not = options.precision == Precision::fp32 ? "" : "halves: no cap"};
  });
  const Plan plan = make_plan(small_network(), {});
  EXPECT_EQ(choose_variant(plan, {10}, {.precision = Precision::fp32}, std::vector{&halves}).variant->name, "halves");
  EXPECT_EQ(choose_variant(plan, {10}, {.precision = Precision::fp64}, std::vector{&halves}).variant->name, "halves")
      << "asked for a precision of its own";
  try {
    choose_variant(plan, {10}, {.precision = Precision::fp16}, std::vector{&halves});
    ADD_FAILURE() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "halves: no cap");
  }
}

}  // namespace
}  // namespace spdnn
