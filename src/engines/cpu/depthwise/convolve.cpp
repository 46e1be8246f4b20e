#include "engines/cpu/depthwise/convolve.hpp"

#include <omp.h>

#include <algorithm>

namespace spdnn::depthwise {

namespace {

/// To a cache line of numbers.
Extent stride_of_tiles(const Tiling& tiling) { return (tiling.tile_size() + 15) / 16 * 16; }

/// Numbers of a bias and its taps.
Extent filter_size(const Tiling& tiling) { return (1 + tiling.shape.taps()) * tiling.lanes; }

class Convolver {
 public:
  Convolver(const Tiling& tiling, const Kernels& kernels, const Filters& filters, const program::Ending& ending)
      : tiling_(tiling), shape_(tiling.shape), kernels_(kernels), filters_(filters), ending_(ending) {}

  /// A block of channels of an image, and a part of its rows.
  void run(Extent image, Extent block, Extent part, const float* input, float* tile, float* output) const {
    const Extent channel = block * tiling_.lanes;
    const Extent plane = image * shape_.groups + channel;
    const Extent channels = std::min(tiling_.lanes, shape_.groups - channel);
    const Extent first = part * tiling_.rows_of_part;
    const Extent end = std::min(first + tiling_.rows_of_part, shape_.out.height);
    if (tiling_.in_place) {
      for (Extent filter = 0; filter < shape_.filters(); ++filter)
        in_place(block, filter, channels, first, end - first, input + plane * shape_.in.pixels(), tile,
                 output + (plane * shape_.filters() + filter) * shape_.out.pixels() + first * shape_.out.width);
      return;
    }
    for (Extent row = first; row < end; row += tiling_.rows) {
      const Extent rows = std::min(tiling_.rows, end - row);
      copy(input + plane * shape_.in.pixels(), channels, row, rows, row > first, tile);
      for (Extent filter = 0; filter < shape_.filters(); ++filter)
        add_up(block, filter, channels, row, rows, tile,
               output + (plane * shape_.filters() + filter) * shape_.out.pixels() + row * shape_.out.width);
    }
  }

 private:
  void in_place(Extent block, Extent filter, Extent channels, Extent row, Extent rows, const float* planes,
                const float* zeros, float* to) const {
    const Extent to_stride = shape_.filters() * shape_.out.pixels();
    kernels_.in_place({.first = {.from = planes,
                                 .height = shape_.in.height,
                                 .width = shape_.in.width,
                                 .top = tap_position(shape_.window, 0, row, 0),
                                 .left = tap_position(shape_.window, 1, 0, 0),
                                 .size = tiling_.square,
                                 .stride = shape_.window.stride[1],
                                 .weights = filters_.weights(block, filter),
                                 .bias = filters_.bias(block, filter),
                                 .function = ending_.function,
                                 .to = to,
                                 .rows = rows,
                                 .columns = shape_.out.width,
                                 .zeros = zeros},
                       .channels = channels,
                       .from_stride = shape_.in.pixels(),
                       .to_stride = to_stride});
    finish(to, to_stride, channels, rows * shape_.out.width);
  }

  /// Columns of padding are not written, for they are zeros from the beginning.
  void copy(const float* planes, Extent channels, Extent first_row, Extent rows, bool continued, float* tile) const {
    const Extent count = tiling_.input_rows(rows);
    const Extent row_size = tiling_.row_size();
    const Extent known = continued ? std::min(tiling_.common_rows(), count) : 0;
    const float* const common = tile + tiling_.rows * shape_.window.stride[0] * row_size;
    std::copy(common, common + known * row_size, tile);
    const Extent top = tap_position(shape_.window, 0, first_row, 0);  // in the image
    const Extent begin = std::clamp<Extent>(-top, known, count);
    const Extent end = std::clamp<Extent>(shape_.in.height - top, begin, count);
    std::fill_n(tile + known * row_size, (begin - known) * row_size, 0.F);
    std::fill_n(tile + end * row_size, (count - end) * row_size, 0.F);
    if (begin == end) return;
    kernels_.copy({.from = planes + (top + begin) * shape_.in.width,
                   .from_stride = shape_.in.pixels(),
                   .channels = channels,
                   .pixels = (end - begin) * shape_.in.width,
                   .to = tile + begin * row_size,
                   .places = tiling_.pixel_places.data()});
  }

  void add_up(Extent block, Extent filter, Extent channels, Extent row, Extent rows, const float* tile,
              float* to) const {
    const Extent pixels = rows * shape_.out.width;
    const Extent stride = shape_.filters() * shape_.out.pixels();
    kernels_.add_up({.tile = tile,
                     .windows = tiling_.window_places.data(),
                     .pixels = pixels,
                     .weights = filters_.weights(block, filter),
                     .taps = tiling_.tap_places.data(),
                     .tap_count = shape_.taps(),
                     .square = tiling_.square,
                     .stride = shape_.window.stride[1],
                     .pitch = tiling_.row_size(),
                     .columns = shape_.out.width,
                     .top = tap_position(shape_.window, 0, row, 0),
                     .down = shape_.window.stride[0],
                     .height = shape_.in.height,
                     .bias = filters_.bias(block, filter),
                     .function = ending_.function,
                     .to = to,
                     .to_stride = stride,
                     .channels = channels});
    finish(to, stride, channels, pixels);
  }

  void finish(float* to, Extent stride, Extent channels, Extent pixels) const {
    if (!ending_.finish) return;
    for (Extent channel = 0; channel < channels; ++channel)
      ending_.finish(to + channel * stride, static_cast<std::size_t>(pixels));
  }

  const Tiling& tiling_;
  const ConvolutionShape& shape_;
  const Kernels& kernels_;
  const Filters& filters_;
  const program::Ending& ending_;
};

}  // namespace

Filters::Filters(const Tiling& tiling, const std::byte* data)
    : data_(reinterpret_cast<const float*>(data)),
      filters_(tiling.shape.filters()),
      lanes_(tiling.lanes),
      size_(filter_size(tiling)) {}

std::size_t Filters::bytes(const Tiling& tiling) {
  return static_cast<std::size_t>(tiling.blocks() * tiling.shape.filters() * filter_size(tiling)) * sizeof(float);
}

void Filters::pack(const Tiling& tiling, const CsrMatrix& weights, const std::vector<float>& bias, std::byte* to) {
  const std::vector<float> rows = dense_rows(weights, 0, weights.rows);
  auto* const numbers = reinterpret_cast<float*>(to);
  std::fill_n(numbers, bytes(tiling) / sizeof(float), 0.F);
  const Extent taps = tiling.shape.taps();
  const Extent filters = tiling.shape.filters();
  for (Extent row = 0; row < Extent{weights.rows}; ++row) {
    const Extent channel = row / filters;
    const Extent block = channel / tiling.lanes;
    float* const lane = numbers + (block * filters + row % filters) * filter_size(tiling) + channel % tiling.lanes;
    if (!bias.empty()) *lane = bias[static_cast<std::size_t>(row)];
    for (Extent tap = 0; tap < taps; ++tap)
      lane[(1 + tap) * tiling.lanes] = rows[static_cast<std::size_t>(row * taps + tap)];
  }
}

std::size_t scratch_size(const Tiling& tiling, int threads) {
  return static_cast<std::size_t>(threads * stride_of_tiles(tiling));
}

void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const program::Ending& ending) {
  const Convolver convolver(tiling, kernels, filters, ending);
#pragma omp parallel num_threads(threads) if (omp_get_max_threads() > 1)
  {
    float* const tile = scratch + omp_get_thread_num() * stride_of_tiles(tiling);
    std::fill_n(tile, tiling.tile_size(), 0.F);
#pragma omp for collapse(3) schedule(static)
    for (Extent image = 0; image < tiling.shape.out.images; ++image)
      for (Extent block = 0; block < tiling.blocks(); ++block)
        for (Extent part = 0; part < tiling.parts; ++part) convolver.run(image, block, part, input, tile, output);
  }
}

}  // namespace spdnn::depthwise
