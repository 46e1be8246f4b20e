// Degrees, classes of twins, and the end of each given neuron and edge, counted by hand in networks of a few
// neurons.

#include "plan/census.hpp"

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "support/plan_nets.hpp"

namespace spdnn {
namespace {

using plan_tests::small_network;
using Bins = std::vector<Histogram::Bin>;

TEST(Census, AHistogramCountsEachValue) {
  Histogram histogram({5, 1, 5, 2, 5, 1});
  EXPECT_EQ(histogram.bins, (Bins{{1, 2}, {2, 1}, {5, 3}}));
  EXPECT_EQ(histogram.total(), 6U);
  EXPECT_EQ(histogram.min(), 1U);
  EXPECT_EQ(histogram.median(), 2U) << "the lower one of the two in the middle";
  EXPECT_EQ(histogram.max(), 5U);
  histogram.add(Histogram({0, 2, 7}));
  EXPECT_EQ(histogram.bins, (Bins{{0, 1}, {1, 2}, {2, 2}, {5, 3}, {7, 1}}));
  EXPECT_EQ(Histogram().median(), 0U);
}

TEST(Census, CountsDegreesAndReadersAsGiven) {
  const Network network = small_network();
  const auto layers = take_census(network, make_plan(network, parse_passes("all")));
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].degrees.bins, (Bins{{0, 1}, {1, 2}, {2, 2}}));
  EXPECT_EQ(layers[0].readers.bins, (Bins{{1, 2}, {2, 2}}));
  EXPECT_EQ(layers[1].degrees.bins, (Bins{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(layers[1].readers.bins, (Bins{{0, 1}, {1, 2}, {2, 2}}));
}

TEST(Census, EveryNeuronAndEdgeHasOneFate) {
  const Network network = small_network();
  const Plan plan = make_plan(network, parse_passes("all"));
  const auto layers = take_census(network, plan);
  const LayerCensus& first = layers[0];
  EXPECT_EQ(first.stored, 2U);
  EXPECT_EQ(first.twins, 1U);
  EXPECT_EQ(first.always_zero, 1U);
  EXPECT_EQ(first.unread, 1U);
  EXPECT_EQ(first.stored_edges, 3U);
  EXPECT_EQ(first.twin_edges, 2U);
  EXPECT_EQ(first.always_zero_edges, 0U);
  EXPECT_EQ(first.unread_edges, 1U);
  EXPECT_EQ(first.classes.bins, (Bins{{1, 1}, {2, 1}}));
  const LayerCensus& second = layers[1];
  EXPECT_EQ(second.stored, 2U);
  EXPECT_EQ(second.always_zero, 1U);
  EXPECT_EQ(second.stored_edges, 4U);
  EXPECT_EQ(second.always_zero_edges, 2U) << "one of the zero itself, one that reads a zero";
  const LayerCensus sum = sum_of(layers);
  EXPECT_EQ(sum.stored + sum.twins + sum.always_zero + sum.unread, 8U);
  EXPECT_EQ(sum.stored_edges, plan.edges());
  EXPECT_EQ(sum.stored_edges + sum.twin_edges + sum.always_zero_edges + sum.unread_edges + sum.merged_edges,
            network.edges());
  EXPECT_EQ(sum.classes.bins, (Bins{{1, 3}, {2, 1}}));
}

TEST(Census, MergedTermsAreNotTwins) {
  const Network network = small_network();
  const Plan plan = make_plan(network, parse_passes("twins,merge"));
  ASSERT_TRUE(plan.passes.merge);
  const LayerCensus sum = sum_of(take_census(network, plan));
  EXPECT_EQ(sum.merged_edges, 1U);
  EXPECT_EQ(sum.twin_edges, 2U);
  EXPECT_EQ(sum.stored_edges + sum.merged_edges + sum.twin_edges, network.edges());
}

TEST(Census, AnUnreducedPlanStoresEverything) {
  const Network network = small_network();
  const LayerCensus sum = sum_of(take_census(network, make_plan(network, {})));
  EXPECT_EQ(sum.stored, 8U);
  EXPECT_EQ(sum.stored_edges, network.edges());
  EXPECT_EQ(sum.classes.bins, (Bins{{1, 8}}));
}

}  // namespace
}  // namespace spdnn
