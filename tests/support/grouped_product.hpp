#pragma once

// A convolution with weights stored as 2:4 as a product, which is computed in fp64, of its filters and of the input
// that the kernel of conv_2to4 has unfolded.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_2to4/unfold.hpp"
#include "model/oracle/evaluate.hpp"
#include "prune/channel_order.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {

inline Weights grouped(const CsrMatrix& weights, Index taps, bool ordered) {
  return Weights(typed_matrix(weights, Pattern::two_of_four, DataType::f32, taps,
                              ordered ? channel_order(weights, taps) : Array<Index>{}));
}

/// Images N, H, W, C of fp16 from rows, and the numbers that they have then.
inline std::vector<std::uint16_t> halves(Tensor& rows, const ImageExtents& of) {
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

/// Unfolds pieces of equally many pixels, as unfold_columns() does.
struct Unfolder {
  Index pixels;  ///< of a piece
  std::function<void(const UnfoldedPiece& piece, const std::vector<ColumnSource>& sources,
                     const std::vector<std::uint16_t>& x, std::uint16_t* rows)>
      unfold;
};

inline std::vector<std::uint16_t> unfolded(const std::vector<std::uint16_t>& x, const ImageExtents& in,
                                           const ImageExtents& out, const Window& window, const GroupedFilters& filters,
                                           const Unfolder& by) {
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
  for (; piece.first < all; piece.first += by.pixels) {
    piece.pixels = static_cast<Index>(std::min<std::size_t>(by.pixels, all - piece.first));
    by.unfold(piece, filters.columns(), x, matrix.data() + piece.first * piece.columns);
  }
  return matrix;
}

/// The largest deviation of product and convolution, in units of the oracle's bound.
inline double ratio_of_grouped_product(testing::ModelCase one, bool ordered, const Unfolder& by) {
  auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const Window window = convolution.window;
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const std::vector<std::uint16_t> x = halves(one.inputs[0], in);
  const Bounded expected = evaluate(one.model, one.inputs)[0];
  const ImageExtents out = image_extents(expected.shape);
  const GroupedFilters filters(grouped(convolution.weights, window.kernel[0] * window.kernel[1], ordered), window);
  const std::vector<std::uint16_t> matrix = unfolded(x, in, out, window, filters, by);
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

/// Likewise over the battery of convolutions, and over some whose channels are read 8 at a time.
inline double largest_ratio_of_grouped_products(const Unfolder& by) {
  double largest = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto* const convolution = std::get_if<Convolution>(&one.model.nodes[0].operation);
    if (convolution == nullptr || convolution->groups != 1) continue;
    for (const bool ordered : {false, true}) largest = std::max(largest, ratio_of_grouped_product(one, ordered, by));
  }
  testing::Rng rng(5);
  for (const Index channels : {8U, 24U, 700U}) {
    const Shape shape{2, Extent{channels}, 5, 6};
    largest = std::max(
        largest,
        ratio_of_grouped_product(
            testing::convolution_case("", testing::random_convolution(rng, channels, 3, testing::same_window(3, 3), 1),
                                      shape, testing::random_tensor(rng, shape)),
            false, by));
  }
  return largest;
}

}  // namespace spdnn::cuda
