// The search for shares of zeros: the order of moves, and how many of them an accuracy allows.

#include "inference/prune/search.hpp"

#include <gtest/gtest.h>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::ModelBuilder;
using testing::random_linear;
using testing::random_tensor;
using testing::Rng;

std::vector<std::pair<std::size_t, double>> as_pairs(const std::vector<PruneMove>& moves) {
  std::vector<std::pair<std::size_t, double>> pairs;
  for (const PruneMove& move : moves) pairs.emplace_back(move.node, move.share);
  return pairs;
}

TEST(PruneSearch, MovesFollowTheTimeSavedForEachSquaredLoss) {
  using Pairs = std::vector<std::pair<std::size_t, double>>;
  // Node 0 saves 1 for 0.01, or 5 for 0.04; node 2 saves 4 for 0.25.
  const Sensitivity trials{{{0.5, 0.1, 9}, {0.9, 0.2, 5}}, {}, {{0.5, 0.5, 6}}};
  EXPECT_EQ(as_pairs(moves_by_gain(trials, {10, 1, 10})), (Pairs{{0, 0.9}, {2, 0.5}}));
  const Sensitivity steps{{{0.5, 0.1, 8}, {0.9, 0.4, 6}}, {}, {{0.5, 0.2, 6}}};
  EXPECT_EQ(as_pairs(moves_by_gain(steps, {10, 1, 10})), (Pairs{{0, 0.5}, {2, 0.5}, {0, 0.9}}));
}

/// Node 0 saves 1 for a loss of 0.1, node 1 3 for 0.25: less for each squared loss, though more for each loss.
TEST(PruneSearch, LossesCountByTheirSquares) {
  const Sensitivity trials{{{0.5, 0.1, 9}}, {{0.6, 0.25, 7}}};
  EXPECT_EQ(as_pairs(moves_by_gain(trials, {10, 10})),
            (std::vector<std::pair<std::size_t, double>>{{0, 0.5}, {1, 0.6}}));
}

TEST(PruneSearch, ALayerThatIsNoFasterStaysDense) {
  const Sensitivity trials{{{0.5, 0.1, 10}, {0.9, 0.2, 12}}, {{0.5, 0, 9}}};
  const std::vector<PruneMove> moves = moves_by_gain(trials, {10, 10});
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].node, 1U);
}

class SearchOnModel : public ::testing::Test {
 protected:
  static Model two_layers() {
    Rng rng(5);
    ModelBuilder builder;
    ValueId x = builder.input({kN, 40});
    x = builder.add(random_linear(rng, 40, 40, 1), {x});
    x = builder.add(testing::make_activation(Activation::Kind::relu), {x});
    x = builder.add(random_linear(rng, 40, 6, 1), {x});
    return builder.finish({x});
  }
  static Tensor images() {
    Rng rng(6);
    return random_tensor(rng, {200, 40});
  }
  const Pruner pruner_{two_layers(), {}, {}};
  const Measurer measurer_{two_layers(), images(), 0, {}, {}};
  const std::vector<PruneMove> moves_{{0, 0.1}, {2, 0.1}, {0, 0.5}, {2, 0.6}, {0, 0.9}, {2, 0.95}};

  double agreement(const Shares& shares) const {
    return measurer_.measured(pruner_.pruned(shares).model).agreement.value();
  }
};

TEST_F(SearchOnModel, MakesAsManyMovesAsTheScoreAllows) {
  std::size_t made = 99;
  for (const double least : {0.5, 0.7, 0.9}) {
    const Shares shares = most_moves(pruner_, measurer_, moves_, least, made);
    EXPECT_GE(agreement(shares), least);
    ASSERT_LT(made, moves_.size());
    Shares more = shares;
    more[moves_[made].node] = moves_[made].share;
    EXPECT_LT(agreement(more), least);
  }
  EXPECT_EQ(most_moves(pruner_, measurer_, moves_, 0.01, made)[2], 0.95);
  EXPECT_EQ(made, moves_.size());
  Shares half(3);
  half[0] = 0.5;
  EXPECT_EQ(most_moves(pruner_, measurer_, {{0, 0.5}}, agreement(half), made), half) << "a score that is just reached";
  EXPECT_EQ(made, 1U);
  const Shares none = most_moves(pruner_, measurer_, {{0, 0.99}}, 1, made);
  EXPECT_FALSE(none[0]);
  EXPECT_EQ(made, 0U);
}

TEST_F(SearchOnModel, RefusesAnAccuracyThatTheDenseModelLacks) {
  const Measurer labelled(two_layers(), images(), 0, std::vector<Index>(200, 5), {});
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "the dense model has ",
                      testing::message_of<UsageError>([&] { require_score(pruner_, labelled, 0.9); }));
  EXPECT_NO_THROW(require_score(pruner_, measurer_, 0.9));
}

TEST_F(SearchOnModel, MoreZerosLoseMore) {
  const Sensitivity trials = sensitivity_of(pruner_, measurer_, {});
  EXPECT_TRUE(trials[1].empty());
  for (const std::size_t n : {0U, 2U}) {
    ASSERT_EQ(trials[n].size(), 5U);
    EXPECT_GT(trials[n].front().loss, 0);
    for (std::size_t t = 1; t < 5; ++t) EXPECT_GT(trials[n][t].loss, trials[n][t - 1].loss);
  }
  PruneSettings settings;
  settings.structure = {Structure::Kind::n_of_m, 2, 4};
  const Sensitivity one = sensitivity_of(Pruner(two_layers(), settings, {}), measurer_, {});
  ASSERT_EQ(one[0].size(), 1U);
  EXPECT_EQ(one[0][0].share, 0.5);
}

}  // namespace
}  // namespace spdnn
