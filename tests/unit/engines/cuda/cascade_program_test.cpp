// Programs of compile_cascade(), read as the header defines and the kernels do, against the plan's rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "engines/cuda/cascade/program.hpp"
#include "spdnn/error.hpp"
#include "support/cascade_rows.hpp"

namespace spdnn {
namespace {

using namespace testing::cascade;

/// a, b, a, b, ... in every row.
Rows alternating_rows(Index outputs, Index inputs, Index degree, std::mt19937& random) {
  Rows rows = random_rows(outputs, inputs, degree, degree, random);
  for (auto& row : rows)
    for (Index k = 2; k < degree; ++k) row[k] = row[k - 2];
  return rows;
}

/// A layer of the program against the plan's: every term in its place, every bias.
void check_layer(const CascadeProgram& program, const Plan& plan, Index number) {
  const CascadeLayer& layer = program.layers.at(number);
  const Layer& given = plan.layers[number];
  ASSERT_EQ(layer.inputs, given.inputs());
  ASSERT_EQ(layer.outputs, given.outputs());
  EXPECT_EQ(layer.weight, given.weights.value);
  EXPECT_EQ(layer.bias_always, plan.bias_rule == BiasRule::everywhere || given.bias.max() <= 0);
  EXPECT_EQ(layer.biases == CascadeLayer::kUniform, given.bias.values.empty());
  Offset most = 0;
  for (Index neuron = 0; neuron < layer.outputs; ++neuron) most = std::max(most, given.weights.degree(neuron));
  EXPECT_EQ(layer.degree, number == 0 || layer.pairs > 0 ? 0 : most);
  for (Index neuron = 0; neuron < layer.outputs; ++neuron) {
    const float bias = layer.biases == CascadeLayer::kUniform ? layer.bias : program.biases.at(layer.biases + neuron);
    EXPECT_EQ(bias, static_cast<float>(given.bias[neuron]));
    if (number == 0) continue;
    std::vector<Index> terms;
    if (layer.pairs > 0) {
      const std::uint32_t pair = program.terms.at(layer.terms * 4 + neuron);
      for (Index k = 0; k < layer.pairs; ++k) terms.insert(terms.end(), {pair & 0xffffU, pair >> 16U});
    } else {
      terms.resize(layer.degrees == CascadeLayer::kUniform ? layer.degree : program.degrees.at(layer.degrees + neuron));
      for (Index t = 0; t < terms.size(); ++t) {
        const std::size_t chunk = layer.terms + t / 8 * std::size_t{layer.outputs} + neuron;
        terms[t] = program.terms.at(chunk * 4 + t % 8 / 2) >> t % 2 * 16 & 0xffffU;
      }
    }
    const auto row = given.weights.row(neuron);
    EXPECT_EQ(terms, std::vector<Index>(row.begin(), row.end())) << "layer " << number << ", neuron " << neuron;
  }
}

TEST(CascadeProgram, KeepsTheTermsOfEveryNeuronInOrder) {
  std::mt19937 random(3);
  Rows nearly = alternating_rows(50, 40, 8, random);
  nearly[49][7] = (nearly[49][5] + 1) % 40;
  Rows belatedly = alternating_rows(50, 50, 8, random);
  belatedly[20][0] = (belatedly[20][2] + 1) % 50;
  const std::vector<Rows> layers{random_rows(50, 70, 0, 9, random),
                                 random_rows(40, 50, 0, 30, random),
                                 random_rows(50, 40, 8, 8, random),
                                 random_rows(45, 50, 13, 13, random),
                                 alternating_rows(33, 45, 8, random),
                                 alternating_rows(40, 33, 6, random),
                                 nearly,
                                 belatedly,
                                 alternating_rows(40, 50, 7, random),
                                 alternating_rows(300, 40, 2, random),
                                 random_rows(0, 300, 0, 0, random),
                                 Rows(5),
                                 random_rows(9, 5, 300, 300, random)};
  const std::vector<Index> pairs{0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0};
  Plan plan;
  Index inputs = 75;  // the last of which nothing reads
  for (const Rows& rows : layers) {
    plan.layers.push_back(make_layer(inputs, rows, static_cast<float>(plan.layers.size() + 1) / 16));
    inputs = plan.layers.back().outputs();
  }
  for (const Index number : {0, 2, 4, 5}) {
    std::vector<double> biases(plan.layers[number].outputs());
    for (double& bias : biases) bias = (number == 4 ? 0.0 : 0.1) - static_cast<double>(random() % 9) / 10;
    plan.layers[number].bias.values = Array<double>(std::move(biases));
  }
  plan.layers[3].bias.uniform = 0.1;
  for (const BiasRule rule : {BiasRule::non_zeros, BiasRule::everywhere}) {
    plan.bias_rule = rule;
    const CascadeProgram program = compile_cascade(plan);
    ASSERT_EQ(program.layers.size(), plan.depth());
    EXPECT_EQ(program.width, 300U);
    for (Index number = 0; number < plan.depth(); ++number) {
      check_layer(program, plan, number);
      EXPECT_EQ(program.layers[number].pairs, pairs[number]) << "layer " << number;
    }
    EXPECT_NE(program.layers[1].degrees, CascadeLayer::kUniform);
    EXPECT_EQ(program.layers[2].degrees, CascadeLayer::kUniform);
  }
}

/// Both checks refuse the plan, naming `what`.
void expect_refused(const Plan& plan, const std::string& what) {
  EXPECT_NE(reason_against_cascade(plan).find(what), std::string::npos) << reason_against_cascade(plan);
  EXPECT_THROW(compile_cascade(plan), UsageError);
}

TEST(CascadeProgram, IsPreferredWhereItIsMadeFor) {
  std::mt19937 random(5);
  const auto preference = [&](Index width, const char* passes) {
    Plan plan = plan_of({make_layer(8192, random_rows(width, 8192, 2, 2, random)),
                         make_layer(width, random_rows(width, width, 2, 2, random))});
    plan.passes = parse_passes(passes);
    return cascade_preference(plan);
  };
  EXPECT_EQ(preference(2048, "dead,saturated"), Preference::preferred);
  EXPECT_EQ(preference(1024, "dead"), Preference::preferred) << "so narrow a tail is no matter";
  EXPECT_EQ(preference(1025, "dead"), Preference::last_resort) << "many images stay to the end";
  EXPECT_EQ(preference(2049, "dead,saturated"), Preference::last_resort) << "not narrow";
  EXPECT_EQ(preference(1024, "saturated"), Preference::last_resort) << "no image leaves";
}

TEST(CascadeProgram, TabulatesLayerOneWhereTwoCountsSayIt) {
  std::mt19937 random(4);
  const auto plan_with = [&](Index outputs, Index degree) {
    Plan plan = plan_of({make_layer(100, random_rows(outputs, 100, degree, degree, random)),
                         make_layer(outputs, alternating_rows(9, outputs, 6, random))});
    plan.cap = 32;
    return plan;
  };
  const auto tabled = [](const Plan& plan) { return !compile_cascade(plan).pair_table.empty(); };
  const Plan plan = plan_with(20, 32);
  EXPECT_TRUE(tabled(plan));
  EXPECT_FALSE(tabled(plan_with(20, 33)));  // more counts than the table has
  EXPECT_FALSE(tabled(plan_with(18, 32)));  // a word of counts that are not all of neurons

  const auto with = [&](auto change) {
    Plan other = plan;
    change(other);
    return other;
  };
  EXPECT_TRUE(tabled(with([](Plan& p) { p.cap.reset(); })));
  EXPECT_FALSE(tabled(with([](Plan& p) { p.cap = 0; })));
  EXPECT_FALSE(tabled(with([](Plan& p) { p.layers.pop_back(); })));
  EXPECT_FALSE(tabled(with([&](Plan& p) { p.layers[1] = make_layer(20, random_rows(9, 20, 6, 6, random)); })));
  for (const Index number : {0, 1})
    EXPECT_FALSE(tabled(with([&](Plan& p) {
      p.layers[number].bias.values = Array<double>(std::vector<double>(p.layers[number].outputs(), -0.5));
    })));
  const auto with_bias_above_0 = [&](Index number) {
    return with([&](Plan& p) { p.layers[number].bias.uniform = 0.25; });
  };
  EXPECT_FALSE(tabled(with_bias_above_0(0)));  // activations no longer grow with the count
  EXPECT_TRUE(tabled(with_bias_above_0(1)));
}

TEST(CascadeProgram, RefusesWhatTheEngineDoesNotTake) {
  std::mt19937 random(4);
  const auto layer_of = [&](Index inputs, Index outputs, Index degree) {
    return make_layer(inputs, random_rows(outputs, inputs, degree, degree, random));
  };
  expect_refused({}, "without layers");

  Plan plan = plan_of({layer_of(20, 20, 4), layer_of(20, 20, 4), layer_of(20, 20, 4)});
  EXPECT_NO_THROW(compile_cascade(plan));
  plan.passes.merge = true;
  expect_refused(plan, "merged plan");
  plan.passes.merge = false;
  plan.layers[1].weights.values = Array<float>(std::vector<float>(plan.layers[1].weights.entries(), 0.5F));
  expect_refused(plan, "layer 2 has a different weight for");

  Layer counted = layer_of(20, 20, kMostCounted);
  EXPECT_EQ(compile_cascade(plan_of({counted, layer_of(20, 5, 1000)})).first.sums.size(), 256U);
  Rows rows(20, std::vector<Index>(4, 1));
  rows[6].resize(kMostCounted + 1, 2);
  expect_refused(plan_of({make_layer(20, rows)}), "neuron 7 of layer 1 has 256 terms, more than 255");

  const Layer wide = layer_of(20, kCascadeWidth, 2);
  const CascadeProgram program = compile_cascade(plan_of({layer_of(20000, 20, 4), wide, layer_of(8192, 8192, 4)}));
  EXPECT_EQ(program.width, kCascadeWidth);
  expect_refused(plan_of({layer_of(20, 20, 4), layer_of(20, kCascadeWidth + 1, 2)}),
                 "layer 2 has 8193 neurons to compute, more than 8192");
}

}  // namespace
}  // namespace spdnn
