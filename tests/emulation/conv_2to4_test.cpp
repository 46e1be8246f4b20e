// Convolutions with weights stored as 2:4, as products, on the CPU: the kernel that unfolds the input, and the filters
// whose weights beyond two of four have columns of their own.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_2to4/unfold.cuh"
#include "model/oracle/evaluate.hpp"
#include "prune/channel_order.hpp"
#include "support/matrix_builder.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {
namespace {

Weights grouped(const CsrMatrix& weights, Index taps, bool ordered) {
  return Weights(typed_matrix(weights, Pattern::two_of_four, DataType::f32, taps,
                              ordered ? channel_order(weights, taps) : Array<Index>{}));
}

/// Images N, H, W, C of fp16 from rows, and the numbers that they have then.
std::vector<std::uint16_t> halves(Tensor& rows, const ImageExtents& of) {
  std::vector<std::uint16_t> to(rows.values.size());
  std::vector<float> numbers;
  std::size_t row = 0;
  for (Extent image = 0; image < of.images; ++image)
    for (Extent channel = 0; channel < of.channels; ++channel)
      for (Extent pixel = 0; pixel < of.pixels(); ++pixel, ++row) {
        const std::uint16_t half = nearest_f16(rows.values[row]);
        numbers.push_back(float_of_f16(half));
        to[static_cast<std::size_t>((image * of.pixels() + pixel) * of.channels + channel)] = half;
      }
  rows = testing::make_tensor(rows.shape, std::move(numbers));
  return to;
}

/// The unfolded input, in pieces of `pixels`.
std::vector<std::uint16_t> unfolded(const std::vector<std::uint16_t>& x, const ImageExtents& in,
                                    const ImageExtents& out, const Window& window, const GroupedFilters& filters,
                                    Index pixels) {
  const WindowAxes axes = window_axes(in, out, window);
  UnfoldedPiece piece{.channels = static_cast<Index>(in.channels),
                      .columns = static_cast<Index>(filters.columns().size())};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    piece.in[axis] = axes.in[axis];
    piece.out[axis] = axes.out[axis];
    piece.stride[axis] = axes.stride[axis];
  }
  const auto all = static_cast<std::size_t>(out.images * out.pixels());
  std::vector<std::uint16_t> matrix(all * piece.columns, 0x7e00);
  for (; piece.first < all; piece.first += pixels) {
    piece.pixels = static_cast<Index>(std::min<std::size_t>(pixels, all - piece.first));
    const ColumnTiles tiles = column_tiles(piece);
    emulation::launch(tiles.blocks, kColumnThreads, 0, [&] {
      unfold_columns_kernel(piece, tiles, filters.columns().data(), x.data(),
                            matrix.data() + piece.first * piece.columns);
    });
  }
  return matrix;
}

/// The largest deviation of product and convolution, in units of the oracle's bound.
double ratio_of_grouped_product(testing::ModelCase one, bool ordered) {
  auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const Window window = convolution.window;
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const std::vector<std::uint16_t> x = halves(one.inputs[0], in);
  const Bounded expected = evaluate(one.model, one.inputs)[0];
  const ImageExtents out = image_extents(expected.shape);
  const GroupedFilters filters(grouped(convolution.weights, window.kernel[0] * window.kernel[1], ordered), window);
  const std::vector<std::uint16_t> matrix = unfolded(x, in, out, window, filters, 48);
  const std::vector<float> weights = filters.weights();
  const std::size_t columns = filters.columns().size();
  const auto plane = static_cast<std::size_t>(out.pixels());
  std::vector<float> found(static_cast<std::size_t>(out.images) * filters.rows() * plane);
  for (std::size_t image = 0; image < static_cast<std::size_t>(out.images); ++image)
    for (std::size_t filter = 0; filter < filters.rows(); ++filter)
      for (std::size_t pixel = 0; pixel < plane; ++pixel) {
        double sum = convolution.bias.empty() ? 0 : convolution.bias[filter];
        for (std::size_t column = 0; column < columns; ++column)
          sum += double{weights[filter * columns + column]} *
                 float_of_f16(matrix[(image * plane + pixel) * columns + column]);
        found[(image * filters.rows() + filter) * plane + pixel] = static_cast<float>(sum);
      }
  return largest_ratio(expected, found);
}

/// The most non-zeros of a row in four neighbouring columns.
std::size_t most_of_four(const GroupedFilters& filters) {
  const std::vector<float> weights = filters.weights();
  std::size_t most = 0;
  for (auto group = weights.begin(); group != weights.end(); group += 4)
    most = std::max<std::size_t>(most, std::count_if(group, group + 4, [](float weight) { return weight != 0; }));
  return most;
}

TEST(EmulatedTwoOfFour, TheProductIsTheConvolution) {
  int cases = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || convolution->groups != 1) continue;
    for (const bool ordered : {false, true})
      EXPECT_LE(ratio_of_grouped_product(one, ordered), 1) << one.name << ordered;
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

TEST(EmulatedTwoOfFour, ManyNeighboursAreReadTogether) {
  testing::Rng rng(5);
  for (const Index channels : {8U, 24U, 700U}) {
    testing::ModelBuilder builder;
    const ValueId input = builder.input({testing::kN, Extent{channels}, 5, 6});
    Convolution convolution = testing::random_convolution(rng, channels, 3, testing::same_window(3, 3), 1);
    testing::ModelCase one{"", builder.finish({builder.add(std::move(convolution), {input})}), {}};
    one.inputs.push_back(testing::random_tensor(rng, {2, Extent{channels}, 5, 6}));
    EXPECT_LE(ratio_of_grouped_product(one, false), 1) << channels;
  }
}

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
