// The guarantee of the planner's exact passes on random networks: every activation is the same bit for bit.

#include <gtest/gtest.h>

#include <map>

#include "core/threads/parallel.hpp"
#include "core/threads/parallel_rows.hpp"
#include "plan/passes/twins.hpp"
#include "plan/planner.hpp"
#include "support/plan_nets.hpp"

namespace spdnn {
namespace {

using plan_tests::below;
using plan_tests::expands_to;
using plan_tests::make_layer;
using plan_tests::NetworkLottery;
using plan_tests::nudged;
using plan_tests::run_trace;
using plan_tests::same_plan;
using plan_tests::Terms;
using plan_tests::terms_of;
using plan_tests::to_vector;
using plan_tests::Trace;

Passes subset(unsigned bits) {
  return {.twins = (bits & 1U) != 0,
          .unused = (bits & 2U) != 0,
          .saturated = (bits & 4U) != 0,
          .dead = (bits & 8U) != 0,
          .identical = (bits & 16U) != 0};
}

/// Counts the cases of each pass, since a property whose case never occurs proves nothing.
struct Occasions {
  int twins = 0, zeros = 0, unread = 0, saturated = 0, identical = 0, late_dead = 0;

  void count(const Plan& plan, const Outcome& outcome) {
    for (const Array<Index>& map : plan.expansion) {
      zeros += std::count(map.begin(), map.end(), kAlwaysZero) > 0;
      unread += std::count(map.begin(), map.end(), kNotComputed) > 0;
    }
    twins += plan.passes.twins && !plan.passes.unused && plan.edges() < plan.provenance.given_edges;
    saturated += outcome.saturated > 0;
    identical += outcome.identical > 0;
    late_dead += plan.passes.dead && plan.certificates.dead_from > 0;
  }
};

class ExactPasses : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ExactPasses, EverySubsetGivesTheSameBits) {
  const Variant& variant = find_variant(GetParam());
  if (variant.device == Device::cuda) GTEST_SKIP() << variant.name << " is tested on a device";
  constexpr Index kImages = 9;
  Occasions occasions;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    NetworkLottery lottery(seed);
    const Network network = lottery.network();
    const ImageSet images = lottery.images(network.inputs(), kImages);
    for (const Precision precision : variant.precisions) {
      if (precision == Precision::fp16) continue;  // certificates speak of fp32 and better
      const Plan given = make_plan(network, {});
      const Trace full = run_trace(variant, precision, given, images);
      for (unsigned bits = 1; bits < 32; ++bits) {
        const Plan plan = make_plan(network, subset(bits));
        const Trace reduced = run_trace(variant, precision, plan, images);
        occasions.count(plan, reduced.outcome);
        ASSERT_TRUE(expands_to(plan, reduced, full, kImages))
            << "seed " << seed << ", " << to_string(subset(bits)) << ", " << to_string(precision);
      }
    }
  }
  EXPECT_GT(occasions.twins, 30);
  EXPECT_GT(occasions.zeros, 30);
  EXPECT_GT(occasions.unread, 30);
  EXPECT_GT(occasions.saturated, 30);
  EXPECT_GT(occasions.identical, 30);
  EXPECT_GT(occasions.late_dead, 30);
}

std::vector<std::string_view> variant_names() {
  std::vector<std::string_view> names;
  for (const Variant& variant : variants()) names.push_back(variant.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Variants, ExactPasses, ::testing::ValuesIn(variant_names()),
                         [](const auto& suite) { return std::string(suite.param); });

// ---- networks so deep that layers are reduced side by side --------------------------------------------------------

TEST(DeepNetworks, ReduceAsShallowOnesDo) {
  const Index enough = 4 * static_cast<Index>(host_threads());
  ASSERT_TRUE(enough_for_all_threads(enough));
  ASSERT_FALSE(enough_for_all_threads(enough - 1));
  int twins_of_twins = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Network network = NetworkLottery(seed).network(enough + 2);
    Network shallow = network;
    shallow.layers.resize(enough - 1);
    const Plan plan = make_plan(network, {.twins = true});
    Plan head = plan;
    head.layers.resize(enough - 1);
    head.certificates.dead_from = head.certificates.saturated_from = 0;
    Plan expected = make_plan(shallow, {.twins = true});
    expected.certificates.dead_from = expected.certificates.saturated_from = 0;
    ASSERT_TRUE(same_plan(head, expected)) << "seed " << seed;
    for (std::size_t k = 0; k < enough - 1; ++k) {
      const Array<Index> first = planning::first_equal_rows(network.layers[k]);
      Index as_given = 0;
      for (Index row = 0; row < network.layers[k].outputs(); ++row) as_given += first.empty() || first[row] == row;
      twins_of_twins += plan.layers[k].outputs() < as_given;
    }
  }
  EXPECT_GT(twins_of_twins, 20);
}

TEST(DeepNetworks, EverySubsetGivesTheSameBits) {
  constexpr Index kImages = 5;
  const Index depth = 4 * static_cast<Index>(host_threads());
  const Variant& oracle = find_variant("cpu_reference");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    NetworkLottery lottery(seed);
    const Network network = lottery.network(depth);
    const ImageSet images = lottery.images(network.inputs(), kImages);
    const Trace full = run_trace(oracle, Precision::fp64, make_plan(network, {}), images);
    for (unsigned bits = 1; bits < 4; ++bits) {
      const Plan plan = make_plan(network, subset(bits));
      ASSERT_TRUE(expands_to(plan, run_trace(oracle, Precision::fp64, plan, images), full, kImages))
          << "seed " << seed << ", " << to_string(subset(bits));
    }
  }
}

// ---- the comparator must be able to fail -------------------------------------------------------------------------

class Mutants : public ::testing::Test {
 protected:
  Mutants()
      : network{{make_layer(2, {{{0, 0.1F}, {1, 0.7F}}, {{0, 0.1F}, {1, 0.7F}}, {{1, 0.3F}}, {{1, nudged(0.3F)}}},
                            {-0.01, {}}),
                 make_layer(4, {{{0, 0.1F}, {2, -1e8F}, {3, 1e8F}}, {{3, 0.5F}, {1, 0.5F}}}, {-0.01, {}})},
                BiasRule::non_zeros,
                std::nullopt},
        images{make_layer(2, {{{0, 1.0F}, {1, 1.0F}}, {{1, 0.5F}}, {}}, {}).weights},
        plan(make_plan(network, {.twins = true})) {}

  ::testing::AssertionResult check(const Plan& mutant) const {
    const Variant& oracle = find_variant("cpu_reference");
    const Trace full = run_trace(oracle, Precision::fp64, make_plan(network, {}), images);
    return expands_to(mutant, run_trace(oracle, Precision::fp64, mutant, images), full, 3);
  }

  static Layer with_rows(const Layer& layer, const std::vector<Terms>& rows) {
    return make_layer(layer.inputs(), rows, layer.bias);
  }

  Network network;
  ImageSet images;
  Plan plan;
};

TEST_F(Mutants, TheTruePlanPasses) {
  EXPECT_EQ(to_vector(plan.expansion[0]), (std::vector<Index>{0, 0, 1, 2}));
  EXPECT_TRUE(check(plan));
}

TEST_F(Mutants, ANearTwinTakenForATwinFails) {
  plan.expansion[0] = std::vector<Index>{0, 0, 1, 1};
  EXPECT_FALSE(check(plan));
}

TEST_F(Mutants, AWeightsLastBitFails) {
  Terms row = terms_of(plan.layers[1].weights, 1);
  row[0].second = nudged(row[0].second);
  plan.layers[1] = with_rows(plan.layers[1], {terms_of(plan.layers[1].weights, 0), row});
  EXPECT_FALSE(check(plan));
}

TEST_F(Mutants, AnotherOrderOfTermsFails) {
  Terms row = terms_of(plan.layers[1].weights, 0);
  std::rotate(row.begin(), row.begin() + 1, row.end());
  plan.layers[1] = with_rows(plan.layers[1], {row, terms_of(plan.layers[1].weights, 1)});
  EXPECT_FALSE(check(plan));
}

TEST_F(Mutants, ANeuronDeclaredZeroFails) {
  plan.expansion[0] = std::vector<Index>{0, 0, 1, kAlwaysZero};
  EXPECT_FALSE(check(plan));
}

TEST_F(Mutants, CategoriesAreCompared) {
  plan.layers[1].bias.uniform = -1e9;  // everything dies in the last layer, which is not compared neuron by neuron
  plan.expansion[1] = std::vector<Index>{kNotComputed, kNotComputed};
  EXPECT_FALSE(check(plan));
}

// ---- hashes are not trusted, threads do not matter ----------------------------------------------------------------

/// Rows drawn so that many are equal, in a matrix large enough to be grouped by several threads.
Layer crowded_layer(Index rows, Index degree, bool values) {
  std::mt19937 random(7);
  std::vector<Terms> terms;
  for (Index j = 0; j < rows; ++j) {
    if (j > 0 && below(random, 2) == 0) {
      terms.push_back(terms[below(random, j)]);
      continue;
    }
    Terms row;
    for (Index k = 0; k < degree; ++k)
      row.emplace_back(below(random, 4), values ? 0.5F + static_cast<float>(below(random, 3)) : 1.0F);
    terms.push_back(row);
  }
  return make_layer(4, terms, {-0.3, {}}, !values);
}

std::vector<Index> first_equal_rows_by_map(const Layer& layer) {
  std::map<Terms, Index> seen;
  std::vector<Index> first;
  for (Index row = 0; row < layer.outputs(); ++row)
    first.push_back(seen.try_emplace(terms_of(layer.weights, row), row).first->second);
  return first;
}

TEST(Hashes, CollisionsCostTimeOnly) {
  for (const bool values : {false, true}) {
    const Layer layer = crowded_layer(700, 300, values);
    const std::vector<Index> expected = first_equal_rows_by_map(layer);
    for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{3} << 62})
      EXPECT_EQ(to_vector(planning::first_equal_rows(layer, mask)), expected) << mask;
  }
}

TEST(Hashes, ShortRowsOfAWideLayer) {
  const Layer layer = crowded_layer(40000, 6, false);
  EXPECT_EQ(to_vector(planning::first_equal_rows(layer)), first_equal_rows_by_map(layer));
}

// ---- twins of a deep network of the challenge's form --------------------------------------------------------------

/// Blocks of butterflies over `groups` groups of `copies` neurons, groups regrouped at random between blocks.
Network butterfly(Index groups, Index copies, Index layers) {
  std::mt19937 random(5);
  Index stages = 1;
  while (2U << (stages - 1) < groups) ++stages;
  const Index neurons = groups * copies;
  std::vector<Index> label(neurons);
  for (Index i = 0; i < neurons; ++i) label[i] = i % groups;
  Network network;
  for (Index k = 0; k < layers; ++k) {
    if (k > 0 && k % stages == 0) std::shuffle(label.begin(), label.end(), random);
    std::vector<Terms> rows(neurons);
    for (Index i = 0; i < neurons; ++i)
      for (Index j = 0; j < neurons; ++j)
        if (const Index apart = (label[i] + groups - j % groups) % groups; apart == 0 || apart == 1U << (k % stages))
          rows[j].emplace_back(i, 1.0F / static_cast<float>(copies));
    network.layers.push_back(make_layer(neurons, rows, {-0.3, {}}, true));
    if (k % stages == stages - 1)
      for (Index i = 0; i < neurons; ++i) label[i] = i % groups;
  }
  return network;
}

TEST(Challenge, AFewRepresentativesStandForAll) {
  const Network network = butterfly(16, 8, 12);
  const Plan plan = make_plan(network, parse_passes("all"));
  for (const Layer& layer : plan.layers) EXPECT_LE(layer.outputs(), 16U);
  EXPECT_EQ(plan.certificates.saturated_from, 0U);
  NetworkLottery lottery(3);
  const ImageSet images = lottery.images(network.inputs(), 40);
  for (const Variant& variant : variants()) {
    if (variant.device == Device::cuda) continue;
    const Precision precision = variant.precisions.front();
    const Trace full = run_trace(variant, precision, make_plan(network, {}), images);
    EXPECT_TRUE(expands_to(plan, run_trace(variant, precision, plan, images), full, 40)) << variant.name;
  }
}

}  // namespace
}  // namespace spdnn
