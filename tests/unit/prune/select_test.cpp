// Which weights are kept: exact counts, the largest, ties, structures, shares of several layers.

#include "prune/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;
using testing::random_weights;
using testing::Rng;

CsrMatrix kept_by_magnitude(const CsrMatrix& weights, const Structure& structure, Offset keep, Index taps = 1) {
  return kept(weights, scores_of(weights, {}, 1), structure, keep, taps);
}

/// The least |weight| of a matrix, and the largest |weight| that `all` has and it has not.
std::pair<float, float> edge_of(const CsrMatrix& all, const CsrMatrix& some) {
  std::pair<float, float> edge{1e30F, 0};
  const std::vector<float> left = dense_rows(some, 0, some.rows);
  const std::vector<float> given = dense_rows(all, 0, all.rows);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (left[i] != 0)
      edge.first = std::min(edge.first, std::abs(left[i]));
    else
      edge.second = std::max(edge.second, std::abs(given[i]));
  return edge;
}

TEST(PruneSelect, KeepsExactlyTheLargest) {
  Rng rng(1);
  for (const Offset keep : {0U, 1U, 37U, 119U, 120U, 500U}) {
    const CsrMatrix weights = random_weights(rng, 10, 12, 1);
    const CsrMatrix some = kept_by_magnitude(weights, {}, keep);
    EXPECT_EQ(some.entries(), std::min<Offset>(keep, 120));
    some.validate();
    EXPECT_TRUE(some.ascends());
    const auto [least, left_out] = edge_of(weights, some);
    EXPECT_GT(least, left_out);
  }
}

TEST(PruneSelect, OfEqualWeightsKeepsTheFirst) {
  const CsrMatrix weights = make_matrix(3, {{{0, 1.F}, {1, -1.F}, {2, 1.F}}, {{0, 1.F}, {2, 2.F}}});
  const CsrMatrix some = kept_by_magnitude(weights, {}, 3);
  EXPECT_EQ(dense_rows(some, 0, 2), (std::vector<float>{1, -1, 0, 0, 0, 2}));
}

TEST(PruneSelect, UniformKeepsAsManyInEachRow) {
  Rng rng(2);
  const CsrMatrix weights = random_weights(rng, 6, 20, 1);
  const CsrMatrix some = kept_by_magnitude(weights, {Structure::Kind::uniform}, 30);
  for (Index row = 0; row < 6; ++row) EXPECT_EQ(some.degree(row), 5U);
  EXPECT_EQ(kept_by_magnitude(weights, {Structure::Kind::uniform}, 0).entries(), 6U) << "at least one of each row";
}

TEST(PruneSelect, NOfMCountsNeighbouringInputsOfATap) {
  Rng rng(3);
  constexpr Index kTaps = 3;
  constexpr Index kInputs = 10;  // the last group of four has two
  const CsrMatrix weights = random_weights(rng, 5, kInputs * kTaps, 1);
  const CsrMatrix some = kept_by_magnitude(weights, {Structure::Kind::n_of_m, 2, 4}, 0, kTaps);
  EXPECT_EQ(some.entries(), 5U * kTaps * 6);
  EXPECT_EQ(decoded(typed_matrix(some, Pattern::two_of_four, DataType::f32, kTaps)).entries(), some.entries());
  const std::vector<float> given = dense_rows(weights, 0, 5);
  const std::vector<float> left = dense_rows(some, 0, 5);
  for (Index row = 0; row < 5; ++row)
    for (Index column = 0; column < 2 * 4 * kTaps; ++column) {  // the full groups
      const Index tap = column % kTaps;
      const Index group = column / kTaps / 4;
      int larger = 0;
      for (Index i = 0; i < 4; ++i)
        larger += std::abs(given[row * weights.cols + (4 * group + i) * kTaps + tap]) >
                          std::abs(given[row * weights.cols + column])
                      ? 1
                      : 0;
      EXPECT_EQ(left[row * weights.cols + column] != 0, larger < 2);
    }
}

TEST(PruneSelect, FactorsOfAGroupWeighItsColumns) {
  const CsrMatrix weights = make_matrix(2, {{{0, 1.F}, {1, 2.F}}, {{0, 1.F}, {1, 2.F}}});
  EXPECT_EQ(scores_of(weights, std::vector<float>{10, 1, 1, 1}, 2), (std::vector<float>{10, 2, 1, 2}));
  EXPECT_EQ(scores_of(weights, std::vector<float>{10, 1}, 1), (std::vector<float>{10, 2, 10, 2}));
}

TEST(PruneSelect, LayersShareByScore) {
  EXPECT_EQ(shared_out({{1, 5, 3}, {4, 0.5F}}, 3), (std::vector<Offset>{2, 1}));
  EXPECT_EQ(shared_out({{1, 1}, {1, 1}}, 3), (std::vector<Offset>{2, 1})) << "earlier layers come first";
  EXPECT_EQ(shared_out({{1, 5, 3}, {4, 0.5F}}, 9), (std::vector<Offset>{3, 2}));
}

TEST(PruneSelect, ReadsStructures) {
  EXPECT_EQ(parse_structure("2:4").n, 2U);
  EXPECT_EQ(parse_structure("1:16").m, 16U);
  for (const char* const text : {"free", "uniform", "3:8"}) EXPECT_EQ(to_string(parse_structure(text)), text);
  for (const char* const text : {"4:4", "0:4", "2:", ":4", "2:4x", "block", ""})
    EXPECT_NE(testing::message_of<UsageError>([&] { parse_structure(text); }), "no error") << text;
}

}  // namespace
}  // namespace spdnn
