// Sums beyond the largest number: every engine records the images and their first such layers, and a bound computed
// from the weights excludes overflow of other sums.

#include "engines/overflow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "inference/run/run.hpp"
#include "plan/magnitudes.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/overflowing.hpp"

namespace spdnn {
namespace {

using testing::Case;
using testing::make_layer;
using testing::make_matrix;
using testing::OverflowingCase;

RunOptions options_of(Precision precision, int threads = 2) {
  RunOptions options;
  options.engine.precision = precision;
  options.engine.threads = threads;
  return options;
}

TEST(Overflow, TheBoundOfALayerIsThatOfItsWidestNeuronWhereverItIs) {
  constexpr Index kRows = 40000;  // so many that threads share them
  for (const Index widest : {0U, kRows / 2, kRows - 1}) {
    testing::Rows rows(kRows);
    for (Index row = 0; row < kRows; ++row)
      for (Index column = 0; column < 8; ++column) rows[row].emplace_back(column, row == widest ? -100.F : 1.F);
    EXPECT_NEAR(planning::bounds_of(make_layer(8, rows, 0)).absolute, 800, 1e-6) << widest;
  }
}

TEST(Overflow, IsNotedByEveryEngineWithItsImagesAndLayers) {
  for (const OverflowingCase& c : testing::overflowing_cases()) {
    for (const Variant& variant : variants()) {
      for (const Precision precision : variant.precisions) {
        if (variant.device != Device::cpu) continue;  // tests/gpu/overflow_test.cpp
        for (const char* passes : {"none", "dead", "all", "identical", "saturated,dead"}) {
          SCOPED_TRACE(c.name + ", " + std::string(variant.name) + ", " + std::string(to_string(precision)) + ", " +
                       passes);
          const Plan plan = make_plan(c.network, parse_passes(passes));
          const RunResult result = run(variant, plan, c.images, options_of(precision));
          EXPECT_EQ(result.outcome.overflow, precision == Precision::fp64 ? c.in_fp64 : c.in_fp32);
        }
      }
    }
  }
}

TEST(Overflow, BatchesKeepTheNumbersOfTheirImages) {
  const OverflowingCase c = testing::overflowing_cases().front();
  RunOptions options = options_of(Precision::fp32);
  options.batch = 3;
  const Plan plan = make_plan(c.network, parse_passes("all"));
  EXPECT_EQ(run(find_variant("cpu_openmp"), plan, c.images, options).outcome.overflow, c.in_fp32);
}

TEST(Overflow, DuplicatesOverflowToo) {
  const auto [network, images, expected] = testing::duplicates_that_overflow();
  for (const char* passes : {"none", "identical", "dead,identical"}) {
    for (const int threads : {1, 3}) {
      const Plan plan = testing::unreduced_plan(network, parse_passes(passes));
      const Outcome outcome =
          run(find_variant("cpu_openmp"), plan, images, options_of(Precision::fp32, threads)).outcome;
      EXPECT_EQ(outcome.overflow, expected) << passes;
      EXPECT_EQ(outcome.categories.size(), 80U);
      EXPECT_EQ(outcome.identical > 0, std::string_view(passes) != "none");
    }
  }
}

/// In fp64. The first image overflows in layer 8, which its activations do not show from there on; both overflow in
/// layer 18. The second may not become a duplicate of the first, whose history is another.
TEST(Overflow, TheReferenceKeepsHistoriesOfEqualRowsApart) {
  constexpr float kHuge = 3e38F;
  Network network;
  for (int k = 0; k < 20; ++k) {
    const float second = k < 8 ? kHuge : k == 8 ? -kHuge : 0;
    network.layers.push_back(make_layer(2, {{{0, k < 10 ? 1.0F : kHuge}}, {{1, second}}}, 0));
  }
  network.cap.reset();
  const ImageSet images{make_matrix(2, {{{0, 2.0F}, {1, 2.0F}}, {{0, 2.0F}}, {{0, 2.0F}}})};
  for (const char* const passes : {"none", "identical"}) {
    const Outcome outcome = run(find_variant("cpu_reference"), testing::unreduced_plan(network, parse_passes(passes)),
                                images, options_of(Precision::fp64))
                                .outcome;
    EXPECT_EQ(outcome.overflow, (std::vector<Overflow>{{0, 8}, {1, 18}, {2, 18}})) << passes;
    EXPECT_EQ(outcome.identical, std::string_view(passes) == "none" ? 0 : 1);
  }
}

TEST(Overflow, OfABatchIsForgottenByTheNext) {
  const OverflowingCase c = testing::overflowing_cases().back();
  const Plan plan = make_plan(c.network, {});
  const ImageSet none{make_matrix(3, testing::Rows(6))};
  for (const Variant& variant : variants()) {
    if (variant.device != Device::cpu) continue;
    const EngineOptions options{.precision = Precision::fp64, .threads = 2, .may_overflow = true};
    const auto engine = testing::engine_for(variant, plan, c.images, options);
    for (const bool overflows : {true, false, true}) {
      engine->load(overflows ? c.images : none);
      testing::advance_to(*engine, 0, plan.depth());
      EXPECT_EQ(engine->outcome().overflow, overflows ? c.in_fp64 : std::vector<Overflow>{}) << variant.name;
    }
  }
}

TEST(Overflow, TheBoundCoversEveryOrderAndIsNotIdle) {
  const auto safe = [](const Network& network, const ImageSet& images, Precision precision) {
    return !may_overflow(testing::unreduced_plan(network), facts_of(images), precision);
  };
  for (const Case& c : testing::battery()) EXPECT_TRUE(safe(c.network, c.images, Precision::fp32)) << c.name;
  const ImageSet bits = ImageSet{ImageSet{make_matrix(2, {{{0, 1.0F}, {1, 1.0F}}}, true)}.to_bits()};
  const ImageSet dark{make_matrix(2, {{{0, -3.0F}}})};
  const float big = 1e38F;
  Network network = testing::network_of({make_layer(2, {{{0, big}, {1, big}}}, 0)});
  EXPECT_TRUE(safe(network, bits, Precision::fp32)) << "2e38";
  EXPECT_FALSE(safe(network, dark, Precision::fp32)) << "values count by their size, not their sign";
  EXPECT_TRUE(safe(network, dark, Precision::fp64));
  network.layers[0].bias.uniform = 1.5e38;
  EXPECT_FALSE(safe(network, bits, Precision::fp32)) << "with the bias";
  network.layers[0].bias.values = std::vector<double>{-1.5e38};
  EXPECT_FALSE(safe(network, bits, Precision::fp32)) << "with a negative bias";
  network.layers[0] = make_layer(2, {{{0, big}, {1, big}}, {}}, 0);
  for (const std::vector<double>& biases : {std::vector<double>{-1.5e38, 0}, {0, -1.5e38}, {1.5e38, 0}}) {
    network.layers[0].bias.values = biases;
    EXPECT_FALSE(safe(network, bits, Precision::fp32)) << "with the largest bias of a neuron, whatever its sign";
  }
  network.layers[0] = make_layer(2, {{{0, big}, {1, big}, {0, -big}, {1, -big}}}, 0);
  EXPECT_FALSE(safe(network, bits, Precision::fp32)) << "in another order";
  network.layers[0] = make_layer(2, {{{0, 2.0F}}, {{0, -2.0F}, {1, 1.0F}}}, 0);
  for (int k = 0; k < 200; ++k) network.layers.push_back(make_layer(2, {{{0, 2.0F}}, {{1, 1.0F}}}, 0, k % 2 == 0));
  EXPECT_TRUE(safe(network, bits, Precision::fp32)) << "the cap";
  network.cap.reset();
  EXPECT_FALSE(safe(network, bits, Precision::fp32));
  EXPECT_TRUE(safe(network, bits, Precision::fp64));
}

TEST(Overflow, RepeatedEntriesOfAnImageAddUp) {
  const Network network = testing::network_of({make_layer(2, {{{0, 1e-3F}}}, 0)});
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet once{make_matrix(2, {{{0, 3e38F}, {1, 3e38F}}})};
  const ImageSet twice{make_matrix(2, {{{0, 3e38F}, {0, 3e38F}}})};
  EXPECT_FALSE(may_overflow(plan, facts_of(once), Precision::fp32));
  EXPECT_TRUE(may_overflow(plan, facts_of(twice), Precision::fp32));
  EXPECT_EQ(run(find_variant("cpu_openmp"), plan, twice, options_of(Precision::fp32)).outcome.overflow.size(), 1U);
}

/// Random signs and orders: no partial sum in fp32 exceeds the bound of its layer.
TEST(Overflow, PartialSumsStayBelowTheBound) {
  testing::Rng rng(7);
  double closest = 0;
  for (int round = 0; round < 200; ++round) {
    const Index terms = 1 + rng.below(60);
    const bool uniform = rng.below(2) == 0;
    const auto pixel = static_cast<float>(rng.real(0, 3));
    testing::Rows row(1);
    float partial = 0;
    float largest = 0;
    const float weight = static_cast<float>(rng.real(0, 2));
    for (Index i = 0; i < terms; ++i) {
      row[0].emplace_back(i, uniform ? weight : static_cast<float>(rng.real(-0.1, 2)));
      partial += row[0].back().second * pixel;
      largest = std::max(largest, std::abs(partial));
    }
    const double bias = rng.real(-1, 1);
    const Plan plan = testing::unreduced_plan(testing::network_of({make_layer(terms, row, bias, uniform)}));
    for (const auto bounds : {planning::RowBounds::rough, planning::RowBounds::exact}) {
      const double bound = planning::magnitudes(plan, pixel, bounds).sums[0];
      EXPECT_LE(largest + std::abs(bias), bound);
      if (pixel > 1) closest = std::max(closest, (largest + std::abs(bias)) / bound);
    }
  }
  EXPECT_GT(closest, 0.9999) << "a bound this far off would have every run looked at";
}

TEST(Overflow, EnginesThatCannotNoteItRefuse) {
  EXPECT_EQ(reason_not_to_watch({}, "resident"), "");
  EXPECT_NE(reason_not_to_watch({.may_overflow = true}, "resident"), "");
}

TEST(Overflow, AMergedPlanIsNotRunWhereSumsMayOverflow) {
  const float big = 1e38F;
  const Network network =
      testing::network_of({make_layer(1, {{{0, 1.0F}}, {{0, 1.0F}}}, 0), make_layer(2, {{{0, big}, {1, big}}}, -0.25),
                           make_layer(1, {{{0, big}}}, -0.25)});
  const Plan plan = make_plan(network, parse_passes("twins,merge"));
  ASSERT_TRUE(plan.passes.merge);
  const Variant& openmp = find_variant("cpu_openmp");
  const ImageSet faint{make_matrix(1, {{{0, 1.5e-38F}}})};  // 3 - 0.25 before the last layer
  const ImageSet bright{make_matrix(1, {{{0, 1.0F}}})};
  RunResult result = run(openmp, plan, faint, options_of(Precision::fp32));
  EXPECT_EQ(result.notes, std::vector<std::string>{"merge is not applied in this run: a sum may overflow"});
  EXPECT_TRUE(result.outcome.overflow.empty());
  result = run(openmp, plan, bright, options_of(Precision::fp32));
  EXPECT_EQ(result.outcome.overflow, (std::vector<Overflow>{{0, 2}}));
  EXPECT_TRUE(run(openmp, plan, bright, options_of(Precision::fp64)).notes.empty());
}

TEST(Merge, ImagesThatAreRunAgainAreCountedOnceAndAreTheSameInEveryRun) {
  int borderline = 0;
  for (const auto& [network, images] : testing::networks_to_merge()) {
    const Outcome expected =
        run(find_variant("cpu_reference"), make_plan(network, {}), images, options_of(Precision::fp64)).outcome;
    for (const char* passes : {"twins,merge", "twins,merge,dead,saturated,identical"}) {
      const Plan plan = make_plan(network, parse_passes(passes));
      ASSERT_TRUE(plan.passes.merge);
      std::vector<Index> rerun;
      for (const int threads : {1, 2, 3}) {
        const Outcome outcome =
            run(find_variant("cpu_openmp"), plan, images, options_of(Precision::fp32, threads)).outcome;
        EXPECT_EQ(outcome.categories, expected.categories);
        EXPECT_EQ(outcome.alive, expected.alive);
        EXPECT_EQ(outcome.alive.back(), static_cast<std::int64_t>(outcome.categories.size()));
        if (threads == 1) rerun = outcome.borderline;
        EXPECT_EQ(outcome.borderline, rerun) << "a property of the problem";
      }
      borderline += rerun.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(borderline, 2);
}

}  // namespace
}  // namespace spdnn
