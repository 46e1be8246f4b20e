// The planner asks its TwinFinder for the rows that are equal as given, and for nothing else.

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "support/plan_nets.hpp"

namespace spdnn {
namespace {

using plan_tests::make_layer;
using plan_tests::NetworkLottery;
using plan_tests::same_plan;
using plan_tests::to_vector;
using Indices = std::vector<Index>;

/// Neurons 0 and 1 of layer 1 are twins; those of layer 2 are twins once their inputs are known to be.
Network searched_network() {
  return {{make_layer(2, {{{0, 1.0F}}, {{0, 1.0F}}, {{1, 1.0F}}}, {-0.5, {}}),
           make_layer(3, {{{0, 2.0F}}, {{1, 2.0F}}, {{2, 2.0F}}}, {-0.5, {}})},
          BiasRule::non_zeros,
          32.0};
}

TEST(Finder, IsAskedOnceForAllLayersAsGiven) {
  const Network network = searched_network();
  int calls = 0;
  const auto counting = [&](std::span<const Layer> layers) {
    ++calls;
    EXPECT_EQ(layers.size(), network.layers.size());
    for (std::size_t k = 0; k < layers.size(); ++k)
      EXPECT_EQ(layers[k].weights.indices.data(), network.layers[k].weights.indices.data());
    return planning::first_equal_rows(layers);
  };
  EXPECT_TRUE(same_plan(make_plan(network, {.twins = true}, counting), make_plan(network, {.twins = true})));
  EXPECT_EQ(calls, 1);
}

TEST(Finder, IsNotAskedWithoutThePass) {
  const auto never = [](std::span<const Layer> layers) -> std::vector<Array<Index>> {
    ADD_FAILURE() << "asked for twins";
    return std::vector<Array<Index>>(layers.size());
  };
  make_plan(searched_network(), {.unused = true}, never);
  make_plan(searched_network(), {}, never);
}

/// The rows that the finder reports are grouped; the planner itself finds those that only renaming makes equal.
TEST(Finder, DecidesWhatIsGroupedAsGiven) {
  const auto none = [](std::span<const Layer> layers) { return std::vector<Array<Index>>(layers.size()); };
  const Plan blind = make_plan(searched_network(), {.twins = true}, none);
  EXPECT_TRUE(blind.expansion[0].empty());
  EXPECT_TRUE(blind.expansion[1].empty());
  const auto first_layer = [](std::span<const Layer> layers) {
    std::vector<Array<Index>> first(layers.size());
    first[0] = planning::first_equal_rows(layers[0]);
    return first;
  };
  const Plan plan = make_plan(searched_network(), {.twins = true}, first_layer);
  EXPECT_EQ(to_vector(plan.expansion[0]), (Indices{0, 0, 1}));
  EXPECT_EQ(to_vector(plan.expansion[1]), (Indices{0, 0, 1}));
}

TEST(Finder, LayersTogetherAreLayersOneByOne) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Network network = NetworkLottery(seed).network();
    const std::vector<Array<Index>> together = planning::first_equal_rows(network.layers);
    ASSERT_EQ(together.size(), network.layers.size());
    for (std::size_t k = 0; k < together.size(); ++k)
      EXPECT_EQ(to_vector(together[k]), to_vector(planning::first_equal_rows(network.layers[k]))) << seed;
  }
}

}  // namespace
}  // namespace spdnn
