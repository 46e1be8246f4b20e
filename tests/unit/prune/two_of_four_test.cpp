// Models whose weights are stored as 2:4.

#include "prune/two_of_four.hpp"

#include <gtest/gtest.h>

#include "prune/quantise.hpp"
#include "prune/select.hpp"
#include "spdnn/error.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::kN;
using testing::Rng;

/// A stem of nine weights a filter, and a convolution with 10 channels whose filters keep 2 of 4.
Model model_of_groups(bool fits) {
  Rng rng(8);
  Convolution stem = testing::random_convolution(rng, 1, 10, testing::same_window(3, 3), 1);
  Convolution second = testing::random_convolution(rng, 10, 6, testing::same_window(3, 3), 1);
  const CsrMatrix all = second.weights;
  second.weights = kept(all, scores_of(all, {}, 1), {Structure::Kind::n_of_m, 2, 4}, 0, 9);
  if (!fits) second.weights = all;
  testing::ModelBuilder builder;
  ValueId x = builder.input({kN, 1, 5, 5});
  x = builder.add(std::move(stem), {x});
  x = builder.add(std::move(second), {x});
  return builder.finish({x});
}

TEST(TwoOfFourModel, KeepsEveryBitAndTakesLess) {
  const Model given = model_of_groups(true);
  Model model = given;
  const TwoOfFourForm form = store_two_of_four(model);
  EXPECT_EQ(form.nodes, 1U);
  EXPECT_EQ(form.few, 1U);
  EXPECT_EQ(form.ordered, 0U);
  EXPECT_LT(form.bytes_after, form.bytes_before);
  EXPECT_EQ(weights_or_null(model.nodes[0].operation)->form(), "csr f32");
  EXPECT_EQ(weights_or_null(model.nodes[1].operation)->form(), "2:4 f32");
  EXPECT_EQ(dense_rows(*matrix_or_null(model.nodes[1].operation), 0, 6),
            dense_rows(*matrix_or_null(given.nodes[1].operation), 0, 6));
}

/// One convolution of 1x1 with these channels in its rows.
Model model_of_rows(Index channels, const std::vector<std::vector<Index>>& rows) {
  testing::Rows entries(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (const Index channel : rows[row]) entries[row].emplace_back(channel, 1.F + static_cast<float>(row));
  Convolution convolution;
  convolution.weights = testing::make_matrix(channels, entries);
  testing::ModelBuilder builder;
  return builder.finish({builder.add(convolution, {builder.input({kN, Extent{channels}, 2, 2})})});
}

/// Each row has four neighbours, which an order must part.
TEST(TwoOfFourModel, ChannelsAreOrderedWhereTheyDoNotFit) {
  const Model given = model_of_rows(32, {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {28, 29, 30, 31}});
  Model model = given;
  const TwoOfFourForm form = store_two_of_four(model);
  EXPECT_EQ(form.ordered, 1U);
  EXPECT_EQ(form.weights, 16U);
  EXPECT_EQ(form.rest, 0U);
  EXPECT_EQ(weights_or_null(model.nodes[0].operation)->form(), "2:4 f32 ordered");
  testing::expect_equal(*matrix_or_null(model.nodes[0].operation), *matrix_or_null(given.nodes[0].operation));
}

/// 18 of 32 channels in eight groups: two of them too many.
TEST(TwoOfFourModel, WhatFitsInNoOrderIsStoredBesideAndNamed) {
  std::vector<Index> channels;
  for (Index channel = 0; channel < 18; ++channel) channels.push_back(channel);
  const Model given = model_of_rows(32, {{}, channels, {5}});
  Model model = given;
  const TwoOfFourForm form = store_two_of_four(model);
  EXPECT_EQ(form.rest, 2U);
  EXPECT_EQ(form.worst, "node 1 \"node0\" (convolution): row 2 with 2");
  EXPECT_EQ(weights_or_null(model.nodes[0].operation)->form(), "2:4 f32 ordered + 2 csr");
  testing::expect_equal(*matrix_or_null(model.nodes[0].operation), *matrix_or_null(given.nodes[0].operation));
}

/// 24 of 32 channels have three in each of eight groups, so that 8 of 32 weights are one too many: a quarter.
TEST(TwoOfFourModel, AQuarterBesideTheGroupsIsNotTooMuch) {
  std::vector<Index> most;
  std::vector<Index> others;
  for (Index channel = 0; channel < 32; ++channel) (channel < 24 ? most : others).push_back(channel);
  const auto rest_of = [](const std::vector<std::vector<Index>>& rows) {
    Model model = model_of_rows(32, rows);
    const TwoOfFourForm form = store_two_of_four(model);
    EXPECT_EQ(form.crowded, 0U);
    return form.rest;
  };
  EXPECT_EQ(rest_of({most, others}), 8U);
  others.pop_back();
  EXPECT_EQ(testing::message_of<DataError>([&] { rest_of({most, others}); }).substr(0, 19), "more than a quarter");
}

TEST(TwoOfFourModel, WhatIsStoredBesideAddsUpOverNodes) {
  Rng rng(10);
  testing::ModelBuilder builder;
  ValueId x = builder.input({kN, 32, 2, 2});
  for (const Index channels : {18U, 17U}) {
    testing::Rows rows(32);
    for (Index channel = 0; channel < channels; ++channel) rows[3].emplace_back(channel, 1.F);
    Convolution convolution;
    convolution.weights = testing::make_matrix(32, rows);
    x = builder.add(convolution, {x});
  }
  Model model = builder.finish({x});
  const TwoOfFourForm form = store_two_of_four(model);
  EXPECT_EQ(form.nodes, 2U);
  EXPECT_EQ(form.ordered, 2U);
  EXPECT_EQ(form.weights, 35U);
  EXPECT_EQ(form.rest, 3U);
}

TEST(TwoOfFourModel, OneOfSmallFiltersAloneIsStoredAsItIs) {
  Rng rng(9);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kN, 31});
  Model model = builder.finish({builder.add(testing::random_linear(rng, 31, 3, 1), {x})});
  const TwoOfFourForm form = store_two_of_four(model);
  EXPECT_EQ(form.few, 1U);
  EXPECT_EQ(form.nodes, 0U);
}

TEST(TwoOfFourModel, WeightsThatAreQuantisedStay) {
  Model model = model_of_groups(true);
  quantise(model, parse_quantisation("int8"));
  EXPECT_EQ(testing::message_of<DataError>([&] { store_two_of_four(model); }),
            "node 1 \"node0\" (convolution): its weights are quantised already (dense i8) and cannot be stored as 2:4; "
            "begin with the model in floating point");
}

/// Filters with all weights beside those of groups.
TEST(TwoOfFourModel, ANodeOfWhichMoreThanAQuarterDoesNotFitStays) {
  Rng rng(9);
  Convolution few = testing::random_convolution(rng, 10, 10, testing::same_window(3, 3), 1);
  few.weights = testing::make_matrix(90, testing::Rows(10, {{0, 1.F}}));
  testing::ModelBuilder builder;
  ValueId x = builder.input({kN, 10, 5, 5});
  x = builder.add(few, {x});
  x = builder.add(testing::random_convolution(rng, 10, 6, testing::same_window(3, 3), 1), {x});
  Model model = builder.finish({x});
  const TwoOfFourForm form = store_two_of_four(model);
  EXPECT_EQ(form.nodes, 1U);
  EXPECT_EQ(form.crowded, 1U);
  EXPECT_EQ(form.most_crowded, "node 2 \"node1\" (convolution): row 1 with 36, row 2 with 36, row 3 with 36");
  EXPECT_EQ(weights_or_null(model.nodes[1].operation)->form(), "csr f32");
}

TEST(TwoOfFourModel, OneWithoutANodeThatFitsIsRefused) {
  Model model = model_of_groups(false);
  EXPECT_EQ(testing::message_of<DataError>([&] { store_two_of_four(model); }),
            "more than a quarter of each node's weights are beyond 2 of four input channels, in the best order of "
            "these that was found, most of node 2 \"node1\" (convolution): row 1 with 36, row 2 with 36, row 3 with "
            "36; spdnn prune --pattern 2:4 makes them fit");
  EXPECT_EQ(weights_or_null(model.nodes[1].operation)->form(), "csr f32");
}

}  // namespace
}  // namespace spdnn
