// Orders of channels for 2:4.

#include "prune/channel_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "spdnn/weights.hpp"
#include "support/networks.hpp"

namespace spdnn {
namespace {

/// Weights of channels x taps columns, each of them kept with this probability in percent.
CsrMatrix random_filters(Index filters, Index channels, Index taps, int percent) {
  testing::Rng rng(34);
  testing::Rows rows(filters);
  for (auto& row : rows)
    for (Index column = 0; column < channels * taps; ++column)
      if (static_cast<int>(rng.below(100)) < percent) row.emplace_back(column, 1.F);
  return testing::make_matrix(channels * taps, rows);
}

std::size_t beside_groups(const CsrMatrix& weights, Index taps, Array<Index> order) {
  const TypedMatrix matrix = typed_matrix(weights, Pattern::two_of_four, DataType::f32, taps, std::move(order));
  matrix.validate();
  return matrix.indices.size();
}

TEST(ChannelOrder, FiltersOfNinetyPercentZerosFit) {
  const CsrMatrix weights = random_filters(128, 130, 3, 10);
  EXPECT_GT(beside_groups(weights, 3, {}), 40U);
  EXPECT_EQ(beside_groups(weights, 3, channel_order(weights, 3)), 0U);
}

TEST(ChannelOrder, FewerAreLeftOverThanInTheOrderOfTheFile) {
  const CsrMatrix weights = random_filters(64, 61, 2, 40);
  const std::size_t without = beside_groups(weights, 2, {});
  const std::size_t with = beside_groups(weights, 2, channel_order(weights, 2));
  EXPECT_LT(with, without * 3 / 5);
  EXPECT_GT(with, 0U);
}

/// Exchanges alone, of channels grouped by how full they are, leave twice as many.
TEST(ChannelOrder, GroupsAreFormedOfChannelsWithFewRowsInCommon) {
  const CsrMatrix weights = random_filters(64, 256, 1, 30);
  EXPECT_LT(10 * beside_groups(weights, 1, channel_order(weights, 1)), beside_groups(weights, 1, {}));
}

TEST(ChannelOrder, FewChannelsKeepOneGroup) {
  for (const Index channels : {1U, 3U, 4U, 5U}) {
    const CsrMatrix weights = random_filters(7, channels, 1, 60);
    const Array<Index> order = channel_order(weights, 1);
    EXPECT_EQ(order.size(), channels);
    beside_groups(weights, 1, order);
  }
}

}  // namespace
}  // namespace spdnn
