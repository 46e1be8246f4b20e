// The layers of a plan that `front_kernel` runs in place of `cascade_kernel`.

#include "engines/cuda/cascade/front_program.hpp"

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "support/shifted_network.hpp"

namespace spdnn {
namespace {

using testing::Shifts;

std::optional<Front> front_of(const Network& network) {
  const Plan plan = make_plan(network, {});
  return find_front(compile_cascade(plan), plan);
}

/// The front of a network that `change` has altered.
template <class Change>
Index layers_after(Change change) {
  Network network = testing::shifted_network({256, 16, 1, {2, 4, 8, 128}, 128});
  change(network);
  const std::optional<Front> front = front_of(network);
  return front ? front->layers : 0;
}

TEST(FrontProgram, IsTheLayersOfOneShiftEach) {
  const std::optional<Front> front = front_of(testing::shifted_network({256, 16, 1, {2, 4, 8, 128}, 128}));
  ASSERT_TRUE(front);
  EXPECT_EQ(front->neurons, 256U);
  EXPECT_EQ(front->layers, 5U);
  EXPECT_EQ(front->outputs, 128U);
  EXPECT_EQ(front->words_per_class, 16U);
  EXPECT_EQ(front->class_shift, 1U);
  EXPECT_EQ(front->threshold, 3U);  // 0.25 for each input, less 0.5
  for (const auto& [layer, shift] : {std::pair{1, 2U}, {2, 4U}, {3, 8U}, {4, 128U}})
    EXPECT_EQ(front->steps[layer].shift, shift);
}

TEST(FrontProgram, EndsBeforeALayerThatMayMakeSomethingOfZeros) {
  EXPECT_EQ(layers_after([](Network& network) { network.layers[4].bias.uniform = 0.25; }), 4U);
  EXPECT_EQ(layers_after([](Network& network) { network.layers[0].bias.uniform = 0.25; }), 0U);
  EXPECT_EQ(layers_after([](Network& network) { network.layers[4].bias.uniform = 0.0; }), 5U);
}

TEST(FrontProgram, EndsBeforeALayerOfAnotherForm) {
  const auto biases = [](Index layer) {
    return [layer](Network& network) {
      std::vector<double> values(network.layers[layer].outputs(), -0.25);
      values[3] = -0.5;
      network.layers[layer].bias.values = Array<double>(std::move(values));
    };
  };
  EXPECT_EQ(layers_after(biases(3)), 3U);
  EXPECT_EQ(layers_after(biases(1)), 0U) << "layer 1 has no table";
  const auto one_neuron_reads_another = [](Index layer) {
    return [layer](Network& network) {
      Layer& changed = network.layers[layer];
      std::vector<Index> inputs(changed.weights.indices.begin(), changed.weights.indices.end());
      for (std::size_t t = 1; t < 8; t += 2) inputs[40 * 8 + t] ^= 1U;
      changed.weights.indices = Array<Index>(std::move(inputs));
    };
  };
  EXPECT_EQ(layers_after(one_neuron_reads_another(3)), 3U);
  EXPECT_EQ(layers_after(one_neuron_reads_another(2)), 0U) << "two layers are too few";
}

TEST(FrontProgram, LeavesALayer) {
  EXPECT_EQ(layers_after([](Network& network) { network.layers.resize(5); }), 4U);
  EXPECT_EQ(layers_after([](Network& network) { network.layers.resize(3); }), 0U);
}

TEST(FrontProgram, NeedsAWidthAndCountsThatItsKernelTakes) {
  const auto takes = [](const Shifts& shifts) { return front_of(testing::shifted_network(shifts)).has_value(); };
  for (const Shifts& shifts : testing::shifts_of_all_widths()) EXPECT_TRUE(takes(shifts)) << shifts.neurons;
  EXPECT_FALSE(takes({32, 16, 1, {2, 4, 8}, 32}));
  EXPECT_FALSE(takes({8192, 1, 1, {2, 4, 8}, 8192}));
  EXPECT_FALSE(takes({320, 16, 1, {2, 4, 8}, 320})) << "no power of two";
  EXPECT_FALSE(takes({256, 17, 1, {2, 4, 8}, 256})) << "more than 32 terms";
  EXPECT_FALSE(takes({256, 16, 32, {2, 4, 8}, 256})) << "the class of another word";
  EXPECT_TRUE(takes({256, 16, 31, {2, 4, 8}, 256}));
  EXPECT_FALSE(takes({256, 16, 1, {2, 4}, 120})) << "no whole words";
  EXPECT_FALSE(takes({256, 16, 1, {3, 4, 8}, 256})) << "neighbours read no neighbours";
}

}  // namespace
}  // namespace spdnn
