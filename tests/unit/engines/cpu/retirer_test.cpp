// Retirement of images whose rows are known only up to an error bound, as `merge` leaves them.

#include "engines/cpu/tiles/retirer.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>

#include "engines/cpu/tiles/dispatch.hpp"
#include "engines/image_states.hpp"
#include "support/networks.hpp"

namespace spdnn {
namespace {

using tiles::lane_bit;
using tiles::LaneFacts;
using tiles::LaneMap;
using tiles::LaneMask;
using Kind = ImageState::Kind;

constexpr double kBound = 0.1;
constexpr float kCap = 32;

/// An image's row after a layer.
struct Row {
  float highest;
  float lowest = -9;
};

class MergedRetirement : public ::testing::Test {
 protected:
  MergedRetirement() {
    states_.reset(kImages, true);
    for (Index lane = 0; lane < kImages; ++lane) {
      lane_map_.images[lane] = lane;
      lane_map_.lanes |= lane_bit(lane);
    }
  }

  static Plan plan_with_bounds() {
    testing::Rng rng(1);
    Network network;
    for (int k = 0; k < 8; ++k) network.layers.push_back(testing::random_layer(rng, 4, 4, 2, 1, 2, -0.3));
    Plan plan = testing::unreduced_plan(network, parse_passes("merge,dead,saturated,identical"));
    plan.fallback = Fallback{std::vector<double>(plan.depth(), kBound), nullptr};
    return plan;
  }

  /// Retires images after a layer with these rows in the first lanes; the other lanes are clearly alive.
  void retire(Index layers_done, std::initializer_list<Row> rows) {
    LaneFacts<float> facts{};
    Index lane = 0;
    for (Index i = 0; i < tiles::kLanes<float>; ++i) facts.highest[i] = 5;
    for (const Row& row : rows) {
      facts.highest[lane] = row.highest;
      facts.lowest[lane] = row.lowest;
      if (row.highest <= 0) facts.zero |= lane_bit(lane);
      if (row.lowest >= kCap) facts.at_cap |= lane_bit(lane);
      ++lane;
    }
    retirer_.retire(lane_map_, layers_done, facts);
  }
  Kind kind(Index image) const { return states_.states[image].kind; }

  static constexpr Index kImages = 4;
  static constexpr Row kAlive{5};
  Plan plan_ = plan_with_bounds();
  tiles::ImageStates states_;
  LaneMap<float> lane_map_;
  tiles::Retirer<float> retirer_{plan_, *tiles::portable_kernels<float>(), states_};
};

TEST_F(MergedRetirement, DeathNeedsTheMargin) {
  retire(1, {{-0.11F}, {-0.09F}, {0.09F}, {0.11F}});
  EXPECT_EQ(kind(0), Kind::dead);
  EXPECT_EQ(kind(1), Kind::borderline);  // all zero, but perhaps not in the given order
  EXPECT_EQ(kind(2), Kind::undecided);   // perhaps all zero in the given order
  EXPECT_EQ(kind(3), Kind::undecided);
  EXPECT_EQ(lane_map_.lanes, lane_bit(2) | lane_bit(3));
  EXPECT_EQ(lane_map_.unsure, lane_bit(2));
  EXPECT_EQ(retirer_.alive()[0], 2);
}

TEST_F(MergedRetirement, DeathOnTheMarginIsDeath) {
  plan_.fallback->error_bounds[0] = 0.25;
  retire(1, {{-0.25F}});
  EXPECT_EQ(kind(0), Kind::dead);
}

TEST_F(MergedRetirement, WhoProvesAliveWasAliveBefore) {
  retire(1, {{0.05F}, {0.05F}, {0.05F}, kAlive});
  retire(2, {{0.5F}, {-0.5F}, {0.05F}, {-0.5F}});
  EXPECT_EQ(kind(0), Kind::undecided);
  EXPECT_EQ(lane_map_.unsure, lane_bit(2));
  EXPECT_EQ(kind(1), Kind::borderline);  // unknown since when
  EXPECT_EQ(states_.borderline_at[1], 2U);
  EXPECT_EQ(kind(3), Kind::dead);
  retire(plan_.depth(), {kAlive, kAlive, {0.05F}, kAlive});
  EXPECT_EQ(kind(0), Kind::undecided);  // a category
  EXPECT_EQ(kind(2), Kind::borderline);
}

TEST_F(MergedRetirement, SaturationNeedsTheMargin) {
  retire(1, {{40, 32.05F}, {40, 32.2F}, {0.05F}, kAlive});
  EXPECT_EQ(kind(0), Kind::undecided);
  EXPECT_EQ(kind(1), Kind::saturated);
  retire(2, {{40, 32.2F}, kAlive, {40, 33}, kAlive});
  EXPECT_EQ(kind(0), Kind::saturated);
  EXPECT_EQ(kind(2), Kind::saturated);  // unsure once, but alive now and hence before
  EXPECT_EQ(retirer_.saturated()[1], 1);
  EXPECT_EQ(retirer_.saturated()[2], 2);
}

TEST_F(MergedRetirement, NothingIsKnownAfterABoundAsLargeAsTheCap) {
  plan_.fallback->error_bounds[3] = 33;
  retire(4, {{40, 32.5F}, kAlive, {-1}, {-50}});
  EXPECT_EQ(kind(0), Kind::undecided);  // though it is alive
  EXPECT_EQ(kind(1), Kind::borderline);
  EXPECT_EQ(kind(2), Kind::borderline);
  EXPECT_EQ(kind(3), Kind::dead);
}

TEST_F(MergedRetirement, PositiveBiasProvesNothing) {
  plan_.layers[1].bias.uniform = 0.3;  // not added to a sum of zero
  retire(2, {{0.5F}});
  EXPECT_EQ(lane_map_.unsure & 1U, 1U);
}

TEST_F(MergedRetirement, DuplicatesAndMovesKeepDoubts) {
  lane_map_.unsure = lane_bit(0);
  alignas(tiles::kLaneBytes) std::array<float, tiles::kLanes<float>> tile{1, 2, 1, 3};
  retirer_.retire_duplicates(lane_map_, tile.data(), 1, 4);
  EXPECT_EQ(kind(2), Kind::undecided);  // the rows are equal, but it is surely alive
  lane_map_.unsure |= lane_bit(2);
  retirer_.retire_duplicates(lane_map_, tile.data(), 1, 8);
  EXPECT_EQ(kind(2), Kind::duplicate);
  EXPECT_EQ(lane_map_.lanes, lane_bit(0) | lane_bit(1) | lane_bit(3));
  EXPECT_EQ(lane_map_.unsure, lane_bit(0));
  EXPECT_EQ(lane_map_.representatives, lane_bit(0));

  LaneMap<float> other;
  other.take(31, lane_map_, 0);
  EXPECT_EQ(other.images[31], 0U);
  EXPECT_EQ(other.lanes, lane_bit(31));
  EXPECT_EQ(other.unsure, lane_bit(31));
  EXPECT_EQ(other.representatives, lane_bit(31));
  EXPECT_EQ(lane_map_.lanes, lane_bit(1) | lane_bit(3));
  EXPECT_EQ(lane_map_.unsure | lane_map_.representatives, 0U);

  LaneFacts<float> dying{};
  for (float& highest : dying.highest) highest = -1;
  dying.zero = tiles::kAllLanes<float>;
  retirer_.retire(other, 5, dying);
  const Outcome outcome = resolve(states_.states);
  EXPECT_EQ(outcome.borderline, (std::vector<Index>{0, 2}));
}

}  // namespace
}  // namespace spdnn
