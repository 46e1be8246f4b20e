// Plans of networks that are not in memory, compared with those of the same networks in memory.

#include <gtest/gtest.h>

#include <algorithm>

#include "engines/overflow.hpp"
#include "plan/planner.hpp"
#include "support/plan_nets.hpp"
#include "support/sampled.hpp"
#include "support/streamed.hpp"

namespace spdnn {
namespace {

using plan_tests::bias_of;
using plan_tests::make_layer;
using plan_tests::NetworkLottery;

/// All that a plan says about itself, wherever its layers are.
void expect_same_facts(const Plan& found, const Plan& expected) {
  EXPECT_EQ(found.passes, expected.passes);
  EXPECT_EQ(found.bias_rule, expected.bias_rule);
  EXPECT_EQ(found.cap, expected.cap);
  EXPECT_EQ(found.certificates.dead_from, expected.certificates.dead_from);
  EXPECT_EQ(found.certificates.saturated_from, expected.certificates.saturated_from);
  EXPECT_EQ(found.provenance.notes, expected.provenance.notes);
  EXPECT_EQ(found.provenance.requested, expected.provenance.requested);
  EXPECT_EQ(found.provenance.given_edges, expected.provenance.given_edges);
  EXPECT_EQ(found.provenance.given_neurons, expected.provenance.given_neurons);
}

TEST(PlanOfAStream, IsThatOfTheNetworkInMemory) {
  for (std::uint64_t seed = 1; seed <= testing::sampled(12U, 40U); ++seed) {
    const Network network = NetworkLottery(seed).network();
    for (const char* const passes : {"twins", "unused", "twins,unused,dead,saturated"}) {
      const Plan expected = make_plan(network, parse_passes(passes));
      for (const Index at_once : {1U, 2U, 5U}) {
        SCOPED_TRACE(seed);
        SCOPED_TRACE(passes);
        const Plan found = make_plan(testing::stream_of(network), parse_passes(passes),
                                     {.at_once = at_once, .plan_bytes = std::size_t{1} << 30U});
        ASSERT_EQ(found.streamed, nullptr);
        EXPECT_GT(found.provenance.read_seconds, 0) << "waiting for layers is reading";
        EXPECT_TRUE(plan_tests::same_plan(found, expected));
        expect_same_facts(found, expected);
      }
    }
  }
}

TEST(PlanOfAStream, IsCertifiedAsInMemory) {
  int certified = 0;
  for (std::uint64_t seed = 1; seed <= testing::sampled(40U, 120U); ++seed) {
    Network network = NetworkLottery(seed).network();
    for (const std::optional<double> cap : {network.cap, std::optional(0.1), std::optional<double>()}) {
      network.cap = cap;
      SCOPED_TRACE(seed);
      const Passes passes = parse_passes("dead,saturated,identical");
      const Plan expected = make_plan(network, passes);
      const Plan found = testing::streamed_plan(testing::stream_of(network), passes, 1);
      ASSERT_NE(found.streamed, nullptr);
      EXPECT_GE(found.streamed->at_once, 2U) << "one is read while another is computed";
      EXPECT_EQ(found.streamed->bounds.size(), network.layers.size());
      expect_same_facts(found, expected);
      certified += found.passes.saturated && found.certificates.saturated_from > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(certified, testing::sampled(1, 5));
}

TEST(PlanOfAStream, TellsHowManyLayersAreDone) {
  const Network network = NetworkLottery(3).network();
  const auto depth = static_cast<std::uint64_t>(network.layers.size());
  for (const char* const passes : {"twins", "dead"}) {
    std::vector<std::uint64_t> done;
    make_plan(testing::stream_of(network), parse_passes(passes), {.at_once = 2, .plan_bytes = std::size_t{1} << 30U},
              [&](const ProgressUpdate& update) {
                EXPECT_EQ(update.total, depth);
                done.push_back(update.done);
              });
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_EQ(done.front(), 0U);
    EXPECT_EQ(done.back(), depth);
    EXPECT_EQ(done.size(), depth + 2) << "at the beginning, after each layer, and at the end";
  }
}

TEST(PlanOfAStream, NamesThePassesWhoseLayersAreTooLargeForItsMemory) {
  const Network network = NetworkLottery(3).network();
  const auto notes = [&](const char* passes) {
    const Plan plan = make_plan(testing::stream_of(network), parse_passes(passes), {.at_once = 2, .plan_bytes = 1});
    EXPECT_NE(plan.streamed, nullptr);
    EXPECT_FALSE(plan.passes.twins || plan.passes.unused);
    EXPECT_EQ(plan.provenance.given_edges, testing::stream_of(network).edges());
    std::string all;
    for (const std::string& note : plan.provenance.notes) all += note.substr(0, note.find(':')) + "; ";
    return all;
  };
  EXPECT_EQ(notes("twins"), "twins is not applied; ");
  EXPECT_EQ(notes("unused"), "unused is not applied; ");
  EXPECT_EQ(notes("merge,twins,unused"), "merge is not applied; twins is not applied; unused is not applied; ");
}

TEST(PlanOfAStream, HasBoundsByWhichSumsMayOverflow) {
  const ImageSet images{make_layer(1, {{{0, 1.0F}}}, {}).weights};
  for (const float weight : {1.0F, 3e38F}) {
    Network network{{make_layer(1, {{{0, weight}}}, {}), make_layer(1, {{{0, 2.0F}}}, {})}, BiasRule::non_zeros, {}};
    const Plan streamed = testing::streamed_plan(testing::stream_of(network), {}, 2);
    EXPECT_EQ(may_overflow(streamed, facts_of(images), Precision::fp32), weight > 1);
  }
}

/// As many equal weights in each row, but biases that differ, one of which is positive.
TEST(PlanOfAStream, KnowsLayersWhoseBiasesDifferByReadingThem) {
  const Layer differing = make_layer(2, {{{0, 1.0F}}, {{1, 1.0F}}}, bias_of({-1, 0.5}), true);
  const Network network{{differing, make_layer(2, {{{0, 1.0F}}}, {-1, {}}, true)}, BiasRule::everywhere, 32.0};
  const Plan found = testing::streamed_plan(testing::stream_of(network), parse_passes("dead"), 2);
  EXPECT_EQ(found.certificates.dead_from, 1U);
  ASSERT_EQ(found.streamed->bounds.size(), 2U);
  EXPECT_EQ(found.streamed->bounds[0].least_bias, -1);
  EXPECT_EQ(found.streamed->bounds[0].most_bias, 0.5);
}

}  // namespace
}  // namespace spdnn
