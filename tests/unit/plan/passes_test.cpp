// Every pass on networks small enough to work out by hand.

#include <gtest/gtest.h>

#include <limits>

#include "plan/passes/merge.hpp"
#include "plan/passes/saturation.hpp"
#include "plan/passes/twins.hpp"
#include "plan/passes/unused.hpp"
#include "plan/planner.hpp"
#include "support/plan_nets.hpp"

namespace spdnn {
namespace {

using plan_tests::bias_of;
using plan_tests::make_layer;
using plan_tests::nudged;
using plan_tests::Terms;
using plan_tests::terms_of;
using plan_tests::to_vector;
using Indices = std::vector<Index>;

Network network_of(std::vector<Layer> layers, BiasRule rule = BiasRule::non_zeros) {
  Network network{std::move(layers), rule, 32.0};
  network.validate();
  return network;
}

bool same_storage(const Layer& a, const Layer& b) {
  return a.weights.offsets.data() == b.weights.offsets.data() && a.weights.indices.data() == b.weights.indices.data() &&
         a.weights.values.data() == b.weights.values.data() && a.bias.values.data() == b.bias.values.data();
}

// ---- twins ------------------------------------------------------------------------------------------------------

TEST(Twins, RowsMustAgreeInOrderWeightsAndBias) {
  const Terms row{{0, 0.5F}, {2, 0.25F}};
  const Layer layer = make_layer(3,
                                 {row,
                                  {{2, 0.25F}, {0, 0.5F}},          // another order
                                  row,                              // twin of 0
                                  {{0, 0.5F}, {1, 0.25F}},          // another input
                                  {{0, nudged(0.5F)}, {2, 0.25F}},  // a weight's last bit
                                  row,                              // another bias
                                  {{0, 0.5F}},                      // a prefix
                                  {},
                                  {}},
                                 bias_of({-1, -1, -1, -1, -1, -2, -1, -1, -1}));
  const Indices expected{0, 1, 0, 3, 4, 5, 6, 7, 7};
  EXPECT_EQ(to_vector(planning::first_equal_rows(layer)), expected);
  EXPECT_EQ(to_vector(planning::first_equal_rows(layer, 0)), expected) << "with every hash the same";
}

TEST(Twins, ARowIsNoTwinOfALongerOneThatBeginsAsItDoes) {
  const Layer layer = make_layer(3, {{}, {{0, 0.5F}}, {{0, 0.5F}, {2, 0.25F}}, {{0, 0.5F}}}, {-1, {}});
  for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0}})
    EXPECT_EQ(to_vector(planning::first_equal_rows(layer, mask)), (Indices{0, 1, 2, 1}));
}

TEST(Twins, AllDistinctIsEmpty) {
  EXPECT_TRUE(planning::first_equal_rows(make_layer(2, {{{0, 1.0F}}, {{1, 1.0F}}}, {}, true)).empty());
  EXPECT_TRUE(planning::first_equal_rows(make_layer(2, {}, {})).empty());
}

TEST(Twins, CascadeThroughRepresentatives) {
  // Layer 1: neurons 0 and 1 are twins, 2 is alone. Layer 2 distinguishes them only by name.
  const Network network =
      network_of({make_layer(2, {{{0, 1.0F}}, {{0, 1.0F}}, {{1, 1.0F}}}, {-0.5, {}}),
                  make_layer(3, {{{0, 2.0F}, {2, 1.0F}}, {{1, 2.0F}, {2, 1.0F}}, {{2, 1.0F}, {1, 2.0F}}}, {-0.5, {}})});
  const Plan plan = make_plan(network, {.twins = true});
  EXPECT_EQ(to_vector(plan.expansion[0]), (Indices{0, 0, 1}));
  EXPECT_EQ(to_vector(plan.expansion[1]), (Indices{0, 0, 1}));
  EXPECT_EQ(terms_of(plan.layers[1].weights, 0), (Terms{{0, 2.0F}, {1, 1.0F}}));
  EXPECT_EQ(terms_of(plan.layers[1].weights, 1), (Terms{{1, 1.0F}, {0, 2.0F}}));
  EXPECT_EQ(plan.edges(), 6U);
  EXPECT_EQ(plan.provenance.given_edges, 9U);
  EXPECT_EQ(plan.provenance.given_neurons, (Indices{2, 3, 3}));
}

TEST(Twins, RepeatedTermsStayApartAndInOrder) {
  const Network network = network_of({make_layer(1, {{{0, 1.0F}}, {{0, 1.0F}}, {{0, 2.0F}}}, {-0.5, {}}),
                                      make_layer(3, {{{0, 0.5F}, {2, 0.5F}, {1, 0.5F}}}, {-0.5, {}}, true)});
  const Plan plan = make_plan(network, {.twins = true});
  EXPECT_EQ(terms_of(plan.layers[1].weights, 0), (Terms{{0, 0.5F}, {1, 0.5F}, {0, 0.5F}}));
  EXPECT_TRUE(plan.layers[1].weights.uniform());
}

TEST(Twins, LayersWithoutTwinsShareTheNetworksStorage) {
  const Network network = network_of({make_layer(2, {{{0, 1.0F}}, {{1, 2.0F}}}, bias_of({-1, 0})),
                                      make_layer(2, {{{0, 1.0F}}, {{0, 1.0F}}}, {-0.5, {}})});
  const Plan plan = make_plan(network, parse_passes("all"));
  EXPECT_TRUE(same_storage(plan.layers[0], network.layers[0]) || plan.expansion[0].size() == 2);
  const Plan twins = make_plan(network, {.twins = true});
  EXPECT_TRUE(same_storage(twins.layers[0], network.layers[0]));
  EXPECT_TRUE(twins.expansion[0].empty());
  EXPECT_EQ(to_vector(twins.expansion[1]), (Indices{0, 0}));
}

TEST(Planner, NoPassesOrDeadAloneShareTheNetworksStorage) {
  const Network network = network_of({make_layer(2, {{{0, 1.0F}}, {{0, 1.0F}}, {}}, bias_of({-1, -1, 1})),
                                      make_layer(3, {{{0, 1.0F}}, {{0, 1.0F}}}, {-0.5, {}}, true)});
  for (const Passes& passes : {Passes{}, Passes{.dead = true}}) {
    const Plan plan = make_plan(network, passes);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_TRUE(same_storage(plan.layers[k], network.layers[k]));
      EXPECT_TRUE(plan.expansion[k].empty());
    }
    EXPECT_EQ(plan.passes, passes);
    EXPECT_EQ(plan.provenance.requested, passes);
    EXPECT_EQ(plan.certificates.saturated_from, 2U);
    EXPECT_TRUE(plan.provenance.notes.empty());
  }
}

TEST(Planner, NetworkWithoutLayers) {
  const Plan plan = make_plan(Network{}, parse_passes("all"));
  EXPECT_EQ(plan.depth(), 0U);
  EXPECT_EQ(plan.passes, parse_passes("all"));
  EXPECT_EQ(plan.provenance.given_neurons, (Indices{0}));
}

// ---- unused -----------------------------------------------------------------------------------------------------

TEST(Unused, NeuronsThatCanNeverBeNonZero) {
  const std::vector<Terms> rows{{}, {}, {{0, -1.0F}, {1, 0.0F}}, {{0, -1.0F}}, {{0, -1.0F}, {1, 1.0F}}};
  const Layer layer = make_layer(2, rows, bias_of({-1, 1, -1, 1, -1}));
  using Flags = std::vector<std::uint8_t>;
  EXPECT_EQ(planning::always_zero(layer, BiasRule::non_zeros, true), (Flags{1, 1, 1, 0, 0}));
  EXPECT_EQ(planning::always_zero(layer, BiasRule::everywhere, true), (Flags{1, 0, 1, 0, 0}));
  EXPECT_EQ(planning::always_zero(layer, BiasRule::everywhere, false), (Flags{1, 0, 0, 0, 0}));
}

TEST(Unused, WeightsOfZeroAddNothing) {
  const Layer layer = make_layer(1, {{{0, 0.0F}}}, {-0.5, {}}, true);
  EXPECT_EQ(planning::always_zero(layer, BiasRule::everywhere, true), (std::vector<std::uint8_t>{1}));
}

TEST(Unused, ZerosAreStruckOutOfLaterSums) {
  // Layer 1 neuron 1 has no terms; in layer 2 neuron 0 then has none left, and neuron 1 only the other one.
  const Network network = network_of({make_layer(2, {{{0, 1.0F}}, {}, {{1, 1.0F}}}, {-0.1, {}}),
                                      make_layer(3, {{{1, 1.0F}}, {{1, 5.0F}, {2, 1.0F}}, {{0, 1.0F}}}, {-0.1, {}}),
                                      make_layer(3, {{{0, 1.0F}, {1, 1.0F}, {2, 1.0F}}}, {-0.1, {}})});
  const Plan plan = make_plan(network, {.unused = true});
  EXPECT_EQ(to_vector(plan.expansion[0]), (Indices{0, kAlwaysZero, 1}));
  EXPECT_EQ(to_vector(plan.expansion[1]), (Indices{kAlwaysZero, 0, 1}));
  EXPECT_EQ(terms_of(plan.layers[1].weights, 0), (Terms{{1, 1.0F}}));
  EXPECT_EQ(terms_of(plan.layers[2].weights, 0), (Terms{{0, 1.0F}, {1, 1.0F}}));
}

TEST(Unused, PositiveBiasEverywhereKeepsANeuronWithoutTerms) {
  const Network network =
      network_of({make_layer(1, {{}}, {0.5, {}}), make_layer(1, {{{0, 1.0F}}}, {0.0, {}})}, BiasRule::everywhere);
  const Plan plan = make_plan(network, {.unused = true});
  EXPECT_EQ(plan.layers[0].outputs(), 1U);
  EXPECT_EQ(plan.layers[1].outputs(), 1U);
}

TEST(Unused, ChainsOfUnreadNeurons) {
  // Layer 3 does not read neuron 1 of layer 2, the only reader of neuron 0 of layer 1.
  const Network network =
      network_of({make_layer(1, {{{0, 1.0F}}, {{0, 2.0F}}}, {-0.1, {}}),
                  make_layer(2, {{{1, 1.0F}}, {{0, 1.0F}}}, {-0.1, {}}), make_layer(2, {{{0, 1.0F}}}, {-0.1, {}})});
  const Plan plan = make_plan(network, {.unused = true});
  EXPECT_EQ(to_vector(plan.expansion[0]), (Indices{kNotComputed, 0}));
  EXPECT_EQ(to_vector(plan.expansion[1]), (Indices{0, kNotComputed}));
  EXPECT_TRUE(plan.expansion[2].empty());
  EXPECT_EQ(plan.edges(), 3U);
}

TEST(Unused, TheLastLayerKeepsWhatMayBeNonZero) {
  const Network network = network_of({make_layer(2, {{{0, 1.0F}}, {}, {{1, -1.0F}}}, {-0.1, {}})});
  const Plan plan = make_plan(network, {.unused = true});
  EXPECT_EQ(to_vector(plan.expansion[0]), (Indices{0, kAlwaysZero, 1}));
}

// ---- certificates -----------------------------------------------------------------------------------------------

TEST(Certificates, DeadFromTheLastPositiveBias) {
  const std::vector<Layer> layers{make_layer(1, {{{0, 1.0F}}}, {-1, {}}), make_layer(1, {{}}, {0.5, {}}),
                                  make_layer(1, {}, {0.5, {}}), make_layer(0, {{}, {}}, bias_of({0, -1}))};
  EXPECT_EQ(planning::dead_from(layers, BiasRule::non_zeros), 0U);
  EXPECT_EQ(planning::dead_from(layers, BiasRule::everywhere), 2U);
}

TEST(Certificates, OnePositiveBiasAmongOthersRevivesRowsOfZeros) {
  const std::vector<Layer> layers{make_layer(1, {{{0, 1.0F}}, {{0, 1.0F}}}, bias_of({-1, 0.5})),
                                  make_layer(2, {{{0, 1.0F}}}, {-1, {}})};
  EXPECT_EQ(planning::dead_from(layers, BiasRule::non_zeros), 0U);
  EXPECT_EQ(planning::dead_from(layers, BiasRule::everywhere), 1U);
}

TEST(Certificates, SaturatedNeedsARoundingMargin) {
  const auto from = [](const Layer& layer, BiasRule rule, double cap) {
    return planning::saturated_from({layer}, rule, cap);
  };
  const Layer ample = make_layer(2, {{{0, 1.0F}, {1, 1.0F}}}, {-0.9, {}});
  EXPECT_EQ(from(ample, BiasRule::non_zeros, 1.0), 0U);
  const Layer exact = make_layer(2, {{{0, 1.0F}, {1, 1.0F}}}, {-1.0, {}});
  EXPECT_EQ(from(exact, BiasRule::non_zeros, 1.0), 1U) << "no room for rounding";
  const Layer cancelling = make_layer(2, {{{0, 1e7F}, {1, -1e7F}, {0, 1.2F}}}, {0.0, {}});
  EXPECT_EQ(from(cancelling, BiasRule::non_zeros, 1.0), 1U) << "the sum may come out as anything";
  const Layer lifted = make_layer(1, {{}}, {2.0, {}});
  EXPECT_EQ(from(lifted, BiasRule::everywhere, 1.0), 0U);
  EXPECT_EQ(from(lifted, BiasRule::non_zeros, 1.0), 1U) << "a sum of 0 gets no bias";
  EXPECT_EQ(from(make_layer(1, {}, {}), BiasRule::everywhere, 1.0), 1U) << "no neuron, no category";
  const Layer huge = make_layer(1, {{{0, 3e38F}, {0, 3e38F}}}, {});
  EXPECT_EQ(from(huge, BiasRule::everywhere, 1.0), 1U) << "overflow";
  EXPECT_TRUE(planning::certifiable_cap(32.0));
  EXPECT_FALSE(planning::certifiable_cap(0.1));
  EXPECT_FALSE(planning::certifiable_cap(1e300));
  for (const double cap : {0.0, 0x1p-140, std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(planning::certifiable_cap(cap)) << cap;
}

/// A bias near 2^20 is rounded by up to 2^-5 each time it is stored or added.
TEST(Certificates, SaturatedNeedsAMarginForTheRoundingOfALargeBias) {
  const auto certified = [](double above) {
    return planning::caps_stay(make_layer(1, {{{0, 0x1p20F}}}, {above - 0x1p20, {}}), BiasRule::everywhere, 1.0);
  };
  EXPECT_FALSE(certified(1.2)) << "1.2 - 1/8 for the sum, - 1/8 for the bias";
  EXPECT_TRUE(certified(1.3));
}

TEST(Certificates, SaturatedFromTheLastLayerThatFails) {
  const Layer good = make_layer(1, {{{0, 2.0F}}}, {-0.5, {}});
  const Layer bad = make_layer(1, {{{0, 0.5F}}}, {-0.5, {}});
  EXPECT_EQ(planning::saturated_from({good, bad, good, good}, BiasRule::non_zeros, 32.0), 2U);
}

// ---- merge ------------------------------------------------------------------------------------------------------

TEST(Merge, EqualTermsAreAddedUp) {
  const CsrMatrix weights =
      make_layer(4, {{{3, 0.5F}, {1, 0.5F}, {3, 0.5F}, {3, 0.25F}}, {}, {{0, 0.5F}, {0, 0.5F}, {0, 0.5F}}}, {}).weights;
  const CsrMatrix merged = planning::merge_terms(weights);
  EXPECT_EQ(terms_of(merged, 0), (Terms{{1, 0.5F}, {3, 0.25F}, {3, 1.0F}}));
  EXPECT_EQ(terms_of(merged, 1), Terms{});
  EXPECT_EQ(terms_of(merged, 2), (Terms{{0, 1.5F}}));
  const CsrMatrix even =
      planning::merge_terms(make_layer(2, {{{1, 1.0F}, {1, 1.0F}}, {{0, 1.0F}, {0, 1.0F}}}, {}).weights);
  EXPECT_TRUE(even.uniform());
  EXPECT_EQ(even.value, 2.0F);
}

TEST(Merge, TermsWhoseSumExceedsFp32StayAsTheyAre) {
  const CsrMatrix weights = make_layer(2, {{{1, 3e38F}, {0, 1.0F}, {1, 3e38F}}, {{0, 1.0F}, {0, 1.0F}}}, {}).weights;
  const CsrMatrix merged = planning::merge_terms(weights);
  EXPECT_EQ(terms_of(merged, 0), (Terms{{1, 3e38F}, {0, 1.0F}, {1, 3e38F}}));
  EXPECT_EQ(terms_of(merged, 1), (Terms{{0, 2.0F}}));
}

/// Which of the neurons is the worst one does not matter.
TEST(Merge, BoundsAreThoseOfTheWorstNeuronWhereverItIs) {
  const Terms heavy{{0, 2.0F}, {1, 2.0F}, {0, 2.0F}, {1, 2.0F}, {0, 2.0F}};
  const Terms light{{0, 0.25F}, {0, 0.25F}};
  const auto bounds = [](const Terms& first, const Terms& second) {
    const Layer layer = make_layer(2, {first, second, second}, {-0.25, {}});
    const Layer reader = make_layer(3, {{{0, 1.0F}, {0, 1.0F}}, {{1, 1.0F}}}, {-0.25, {}});
    return make_plan(network_of({layer, reader}), {.twins = true, .merge = true}).fallback->error_bounds;
  };
  EXPECT_EQ(bounds(heavy, light)[0], bounds(light, heavy)[0]);
  EXPECT_EQ(bounds(heavy, light)[0], bounds(heavy, heavy)[0]);
  EXPECT_EQ(bounds(heavy, light)[1], bounds(light, heavy)[1]);
  EXPECT_GT(bounds(heavy, light)[0], 4 * bounds(light, light)[0]);
}

TEST(Merge, KeepsThePlanInOrderBesideIt) {
  const Network network = network_of(
      {make_layer(1, {{{0, 1.0F}}, {{0, 1.0F}}}, {-0.5, {}}), make_layer(2, {{{0, 0.5F}, {1, 0.5F}}}, {-0.5, {}})});
  const Passes passes{.twins = true, .merge = true};
  const Plan plan = make_plan(network, passes);
  ASSERT_TRUE(plan.fallback);
  EXPECT_EQ(plan.passes, passes);
  EXPECT_EQ(plan.fallback->in_order->passes, (Passes{.twins = true}));
  EXPECT_EQ(plan.edges(), 2U);
  EXPECT_EQ(plan.fallback->in_order->edges(), 3U);
  ASSERT_EQ(plan.fallback->error_bounds.size(), 2U);
  EXPECT_GT(plan.fallback->error_bounds[0], 0.0);
  EXPECT_LT(plan.fallback->error_bounds[1], 1e-5);
}

TEST(Merge, BoundsGrowWithTheSumsAndTakeTheCapAsALimit) {
  // Every layer doubles: two twins, each reading both with weight 1.
  const Layer doubling = make_layer(2, {{{0, 1.0F}, {1, 1.0F}}, {{0, 1.0F}, {1, 1.0F}}}, {-0.25, {}});
  const Plan plan = make_plan(network_of(std::vector<Layer>(40, doubling)), {.twins = true, .merge = true});
  ASSERT_EQ(plan.fallback->error_bounds.size(), 40U);
  for (std::size_t k = 1; k < 20; ++k)
    EXPECT_GE(plan.fallback->error_bounds[k], 2 * plan.fallback->error_bounds[k - 1]);
  EXPECT_GT(plan.fallback->error_bounds.back(), 2 * 32.0);
  EXPECT_LT(plan.fallback->error_bounds.back(), 2 * 32.0 + 0.001);
}

// ---- passes that stand aside ------------------------------------------------------------------------------------

TEST(Planner, PassesThatStandAsideSaySo) {
  const auto twice = [](double bias, float weight) {
    return std::vector<Layer>{make_layer(1, {{{0, weight}}, {{0, weight}}}, {bias, {}}),
                              make_layer(2, {{{0, weight}, {1, weight}}}, {bias, {}})};
  };
  const Passes all{.twins = true, .unused = true, .merge = true, .saturated = true, .dead = true, .identical = true};

  Network network = network_of(twice(-0.5, 4.0F));
  EXPECT_EQ(make_plan(network, all).passes, all);
  EXPECT_TRUE(make_plan(network, all).provenance.notes.empty());

  network.cap = std::nullopt;
  Plan plan = make_plan(network, all);
  EXPECT_FALSE(plan.passes.saturated);
  EXPECT_EQ(plan.provenance.notes, (std::vector<std::string>{"saturated is not applied: there is no cap"}));

  network.cap = 0.1;  // in fp32 another number, by which no image can be known to be at the cap
  plan = make_plan(network, {.saturated = true});
  EXPECT_FALSE(plan.passes.saturated);
  EXPECT_EQ(plan.provenance.notes, (std::vector<std::string>{"saturated is not applied: the cap is no fp32 number"}));
  EXPECT_FALSE(make_plan(network, all).passes.merge);

  network = network_of(twice(0.5, 4.0F), BiasRule::everywhere);
  plan = make_plan(network, all);
  EXPECT_EQ(plan.passes, (Passes{.twins = true, .unused = true, .saturated = true, .identical = true}));
  EXPECT_EQ(plan.provenance.notes.size(), 2U);
  EXPECT_FALSE(plan.fallback);

  network = network_of(twice(-0.5, 0.25F));
  plan = make_plan(network, all);
  EXPECT_FALSE(plan.passes.saturated);
  EXPECT_TRUE(plan.passes.merge);

  plan = make_plan(network, {.merge = true});
  EXPECT_FALSE(plan.passes.merge);
  EXPECT_EQ(plan.provenance.notes,
            (std::vector<std::string>{
                "merge is not applied: it adds up terms that twins made equal, and twins was not requested"}));

  network = network_of({make_layer(1, {{{0, 0.5F}}}, {-0.5, {}}), make_layer(1, {{{0, 2.0F}}}, {-0.5, {}})});
  plan = make_plan(network, {.saturated = true});
  EXPECT_EQ(plan.certificates.saturated_from, 1U);
  EXPECT_EQ(plan.provenance.notes,
            (std::vector<std::string>{
                "saturated begins after layer 1, where a row at the cap does not provably stay there"}));
}

TEST(Merge, NegativeWeightsHaveNoBound) {
  Plan plan;
  plan.passes.twins = true;
  for (const Layer& layer : {make_layer(2, {{{0, -0.5F}, {1, 0.25F}}}, {-1, {}}),
                             make_layer(2, {{{0, -0.5F}, {1, -0.5F}}}, {-1, {}}, true)}) {
    plan.layers = {layer};
    EXPECT_EQ(planning::reason_against_merge(plan), "a weight is negative, so errors of sums are not bounded");
  }
}

}  // namespace
}  // namespace spdnn
