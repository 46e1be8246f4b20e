// Convolutions with weights stored as 2:4, as products, on the CPU: the kernel that unfolds the input, and the filters
// whose weights beyond two of four have columns of their own.

#include <gtest/gtest.h>

#include <algorithm>

#include "engines/cuda/conv_2to4/unfold.cuh"
#include "support/grouped_product.hpp"
#include "support/matrix_builder.hpp"

namespace spdnn::cuda {
namespace {

/// In pieces of 48 pixels.
double largest_ratio_of_emulated_products() {
  return largest_ratio_of_grouped_products({48, [](const UnfoldedPiece& piece, const std::vector<ColumnSource>& sources,
                                                   const std::vector<std::uint16_t>& x, std::uint16_t* rows) {
                                              const ColumnTiles tiles = column_tiles(piece);
                                              emulation::launch(tiles.blocks, kColumnThreads, 0, [&] {
                                                unfold_columns_kernel(piece, tiles, sources.data(), x.data(), rows);
                                              });
                                            }});
}

/// The most non-zeros of a row in four neighbouring columns.
std::size_t most_of_four(const GroupedFilters& filters) {
  const std::vector<float> weights = filters.weights();
  std::size_t most = 0;
  for (auto group = weights.begin(); group != weights.end(); group += 4)
    most = std::max<std::size_t>(most, std::count_if(group, group + 4, [](float weight) { return weight != 0; }));
  return most;
}

TEST(EmulatedTwoOfFour, TheProductIsTheConvolution) { EXPECT_LE(largest_ratio_of_emulated_products(), 1); }

TEST(GroupedFilters, WeightsBeyondTwoOfFourHaveCopiesOfTheirColumns) {
  testing::Rows rows(3);
  for (const Index channel : {0U, 1U, 2U, 3U, 9U}) rows[0].emplace_back(channel, 1.F + static_cast<float>(channel));
  for (const Index channel : {1U, 2U, 3U}) rows[1].emplace_back(channel, 10.F);
  const GroupedFilters filters(grouped(testing::make_matrix(12, rows), 1, false), Window{.kernel = {1, 1}});
  EXPECT_EQ(filters.copies(), 2U);
  ASSERT_EQ(filters.columns().size(), 16U);
  EXPECT_EQ(filters.columns()[12].channel, 2);
  EXPECT_EQ(filters.columns()[13].channel, 3);
  EXPECT_EQ(filters.columns()[14].channel, -1);
  EXPECT_EQ(most_of_four(filters), 2U);
  const std::vector<float> weights = filters.weights();
  EXPECT_EQ(weights[12], 3);
  EXPECT_EQ(weights[13], 4);
  EXPECT_EQ(weights[16 + 13], 10);
}

TEST(GroupedFilters, NoGroupHasMoreThanTwo) {
  testing::Rng rng(9);
  for (const bool ordered : {false, true}) {
    const Convolution dense = testing::random_convolution(rng, 21, 40, testing::same_window(3, 3), 1);
    const GroupedFilters filters(grouped(dense.weights, 9, ordered), dense.window);
    EXPECT_EQ(most_of_four(filters), 2U);
    EXPECT_EQ(filters.columns().size() % kColumnsTogether, 0U);
  }
}

TEST(GroupedFilters, AnInputIsItsOwnUnfoldedFormWithoutOrderAndCopies) {
  const auto is_input = [](Index channels, Index second, Array<Index> order) {
    const CsrMatrix matrix = testing::make_matrix(channels, {{{0, 1.F}, {1, 1.F}, {second, 1.F}}});
    const Weights weights(typed_matrix(matrix, Pattern::two_of_four, DataType::f32, 1, std::move(order)));
    return GroupedFilters(weights, Window{.kernel = {1, 1}}).is_input();
  };
  EXPECT_TRUE(is_input(16, 4, {}));
  EXPECT_FALSE(is_input(16, 2, {}));  // a copy
  EXPECT_FALSE(is_input(12, 4, {}));  // filled up
  EXPECT_FALSE(is_input(16, 4, std::vector<Index>{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(GroupedFilters, PiecesAreEqualAndOfWholeEights) {
  EXPECT_EQ(pixels_of_piece(128 * 49, 64, 1U << 30U), 128U * 49);
  EXPECT_EQ(pixels_of_piece(128 * 49, 64, 100'000), 448U);  // 97 eights would fit, 56 divide all
  EXPECT_EQ(pixels_of_piece(8 * 7, 1'000'000, 1), 8U);
  EXPECT_EQ(pixels_of_piece(8 * 7, 64, 8 * 64 * 2 * 6), 8U);
}

}  // namespace
}  // namespace spdnn::cuda
