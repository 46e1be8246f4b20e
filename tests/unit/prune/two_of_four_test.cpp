// Models whose weights are stored as 2:4.

#include "prune/two_of_four.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(form.left, 1U);
  EXPECT_LT(form.bytes_after, form.bytes_before);
  EXPECT_EQ(weights_or_null(model.nodes[0].operation)->form(), "csr f32");
  EXPECT_EQ(weights_or_null(model.nodes[1].operation)->form(), "2:4 f32");
  EXPECT_EQ(dense_rows(*matrix_or_null(model.nodes[1].operation), 0, 6),
            dense_rows(*matrix_or_null(given.nodes[1].operation), 0, 6));
}

TEST(TwoOfFourModel, NamesTheWorstRowsThatDoNotFit) {
  Model model = model_of_groups(false);
  Convolution& second = std::get<Convolution>(model.nodes[1].operation);
  // Row 0 fits, row 1 has one crowded group, rows 2 to 5 have two at each of nine taps: the third has two inputs.
  std::vector<std::vector<std::pair<Index, float>>> rows(6);
  const std::vector<float> all = dense_rows(second.weights, 0, 6);
  for (Index column = 0; column < 90; ++column)
    for (Index row = 2; row < 6; ++row) rows[row].emplace_back(column, all[row * 90 + column]);
  for (const Index channel : {0U, 1U}) rows[0].emplace_back(channel * 9, 1.F);
  for (const Index channel : {4U, 5U, 7U}) rows[1].emplace_back(channel * 9 + 2, 1.F);
  second.weights = testing::make_matrix(90, rows);
  EXPECT_EQ(
      testing::message_of<DataError>([&] { store_two_of_four(model); }),
      "node 2 \"node1\" (convolution): 5 of 6 rows have more than 2 non-zeros in four neighbouring input channels, the "
      "worst: row 3 in 18 groups, row 4 in 18 groups, row 5 in 18 groups; spdnn prune --pattern 2:4 makes them fit");
  EXPECT_EQ(second.weights.form(), "csr f32");
}

}  // namespace
}  // namespace spdnn
