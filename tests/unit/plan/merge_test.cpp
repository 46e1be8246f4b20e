// The error bounds of `merge`: sums of merged terms compared with sums in the given order, in fp32 and fp64.

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "support/plan_nets.hpp"

namespace spdnn {
namespace {

using plan_tests::below;
using plan_tests::make_layer;
using plan_tests::Terms;

/// Takes one image through one layer by the rule. `lifted` receives Z + bias of every neuron.
template <class Real>
std::vector<Real> next_row(const Plan& plan, const Layer& layer, const std::vector<Real>& y,
                           std::vector<Real>& lifted) {
  std::vector<Real> next(layer.outputs());
  lifted.assign(layer.outputs(), 0);
  for (Index j = 0; j < layer.outputs(); ++j) {
    Real z = 0;
    for (Offset k = layer.weights.offsets[j]; k < layer.weights.offsets[j + 1]; ++k)
      z += y[layer.weights.indices[k]] * static_cast<Real>(layer.weights.entry_value(k));
    lifted[j] = z + static_cast<Real>(layer.bias[j]);
    const Real ruled = plan.bias_rule == BiasRule::everywhere || z != 0 ? lifted[j] : z;
    next[j] = std::max(ruled, Real{0});
    if (plan.cap) next[j] = std::min(next[j], static_cast<Real>(*plan.cap));
  }
  return next;
}

/// The largest distance of Z + b between merged sums in fp32 and in-order sums in Real, over layers and images, as a
/// share of the bound.
template <class Real>
double worst_share(const Plan& plan, const std::vector<std::vector<float>>& images) {
  double worst = 0;
  for (const auto& image : images) {
    std::vector<float> merged = image;
    std::vector<Real> in_order(image.begin(), image.end());
    for (Index k = 0; k < plan.depth(); ++k) {
      std::vector<float> merged_sums;
      std::vector<Real> sums;
      merged = next_row(plan, plan.layers[k], merged, merged_sums);
      in_order = next_row(*plan.fallback->in_order, plan.fallback->in_order->layers[k], in_order, sums);
      for (std::size_t j = 0; j < sums.size(); ++j)
        worst =
            std::max(worst, std::abs(static_cast<double>(sums[j]) - merged_sums[j]) / plan.fallback->error_bounds[k]);
    }
  }
  return worst;
}

/// Networks with twins in every layer, weights that are no short binary fractions, and sums that grow to the cap.
Network twin_network(std::mt19937& random, BiasRule rule, std::optional<double> cap) {
  const Index groups = 4 + below(random, 5);
  const Index copies = 1 + below(random, 6);
  Network network;
  network.bias_rule = rule;
  network.cap = cap;
  std::uniform_real_distribution<float> share(0.2F, 2.0F);
  for (int k = 0; k < 8; ++k) {
    std::vector<Terms> distinct(groups);
    for (Terms& row : distinct) {
      const float weight = share(random) / static_cast<float>(copies);
      for (Index i = 0; i < groups * copies; ++i)
        if (below(random, 3) != 0) row.emplace_back(i, below(random, 4) == 0 ? share(random) / 9 : weight);
    }
    std::vector<Terms> rows;
    for (Index j = 0; j < groups * copies; ++j) rows.push_back(distinct[j % groups]);
    network.layers.push_back(make_layer(groups * copies, rows, {-0.1 * (below(random, 5)), {}}));
  }
  return network;
}

TEST(MergeBounds, HoldInBothPrecisionsAndAreNotIdle) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> brightness;
  double worst = 0;
  int merged = 0;
  for (int round = 0; round < 200; ++round) {
    const std::optional<double> cap = round % 5 == 0 ? std::nullopt : std::optional(round % 2 == 0 ? 32.0 : 2.0);
    const Network network = twin_network(random, round % 3 == 0 ? BiasRule::everywhere : BiasRule::non_zeros, cap);
    const Plan plan = make_plan(network, {.twins = true, .merge = true});
    if (!plan.passes.merge) continue;
    ++merged;
    std::vector<std::vector<float>> images(8, std::vector<float>(network.inputs()));
    for (auto& image : images)
      for (float& pixel : image)
        pixel = below(random, 2) == 0 ? brightness(random) : static_cast<float>(below(random, 2));
    const double share = std::max(worst_share<float>(plan, images), worst_share<double>(plan, images));
    ASSERT_LE(share, 1.0) << "round " << round;
    worst = std::max(worst, share);
  }
  EXPECT_GT(merged, 100);
  EXPECT_GT(worst, 0.02) << "bounds this far from the truth would decide nothing";
}

/// In the given order every small term is lost in fp32, because a large one precedes it; when they are added up first,
/// none is lost. The error comes as near to the bound as roundings in one direction can, and the second layer
/// multiplies it.
TEST(MergeBounds, AreNotNeededWhereNoNeuronHasEqualTerms) {
  Network network;
  network.layers = {make_layer(2, {{{0, 1.0F}, {1, 2.0F}}, {{0, 3.0F}, {1, 1.0F}}}, {-0.25, {}})};
  const Plan plan = make_plan(network, {.twins = true, .merge = true});
  EXPECT_FALSE(plan.passes.merge);
  EXPECT_FALSE(plan.fallback);
  EXPECT_EQ(plan.provenance.notes.size(), 1U);
}

TEST(MergeBounds, HoldForTheWorstOrderAndForWhatItsErrorsBecome) {
  constexpr float kLost = 0x1p-24F;  // half a unit in the last place of 1, which ties to even
  for (const Index small_terms : {20U, 1000U, 50000U}) {
    Terms row{{0, 1.0F}};
    row.insert(row.end(), small_terms, {1, kLost});
    Network network;
    network.layers.push_back(make_layer(2, {row}, {0.0, {}}));
    network.layers.push_back(make_layer(1, {{{0, 8.0F}}}, {0.0, {}}));
    network.cap = 32.0;
    const Plan plan = make_plan(network, {.twins = true, .merge = true});
    ASSERT_TRUE(plan.passes.merge);
    const double error = small_terms * static_cast<double>(kLost);
    EXPECT_GE(plan.fallback->error_bounds[0], error);
    EXPECT_GE(plan.fallback->error_bounds[1], 8 * error);
    const double share = worst_share<float>(plan, {{1.0F, 1.0F}});
    EXPECT_LE(share, 1.0);
    EXPECT_GT(share, small_terms < 100 ? 0.7 : 0.9);
  }
}

TEST(MergeBounds, ANeuronWithTooManyInputsIsLeftAsItIs) {
  const auto notes = [](Index inputs) {
    Terms terms(inputs);
    for (Index i = 0; i < inputs; ++i) terms[i] = {i, 1.0F};
    const Network network{{make_layer(inputs, {terms}, {-1, {}}, true)}, BiasRule::non_zeros, 32.0};
    return make_plan(network, parse_passes("twins,merge")).provenance.notes;
  };
  EXPECT_EQ(notes(1U << 20U), (std::vector<std::string>{"merge is not applied: no neuron has equal terms that fp32 can "
                                                        "hold as one"}));
  EXPECT_EQ(notes((1U << 20U) + 1), (std::vector<std::string>{"merge is not applied: a neuron has too many inputs for "
                                                              "a bound on its rounding errors"}));
}

}  // namespace
}  // namespace spdnn
