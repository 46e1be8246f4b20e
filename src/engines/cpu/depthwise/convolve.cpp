#include "engines/cpu/depthwise/convolve.hpp"

#include <omp.h>

#include <algorithm>

namespace spdnn::depthwise {

namespace {

/// To a cache line of numbers.
Extent stride_of_tiles(const Tiling& tiling) { return (tiling.tile_size() + 15) / 16 * 16; }

class Convolver {
 public:
  Convolver(const Tiling& tiling, const Kernels& kernels, const Filters& filters, const program::Ending& ending)
      : tiling_(tiling), shape_(tiling.shape), kernels_(kernels), filters_(filters), ending_(ending) {}

  /// A tile of one channel of an image, which is a group of its own.
  void run(Extent image, Extent channel, Extent row_tile, const float* input, float* tile, float* output) const {
    const Extent first_row = row_tile * tiling_.rows;
    const Extent rows = std::min(tiling_.rows, shape_.out.height - first_row);
    const Extent plane = image * shape_.groups + channel;
    copy(input + plane * shape_.in.pixels(), first_row, rows, tile);
    for (Extent filter = 0; filter < shape_.filters(); ++filter) {
      float* const to =
          output + (plane * shape_.filters() + filter) * shape_.out.pixels() + first_row * shape_.out.width;
      add_up(channel * shape_.filters() + filter, rows, tile, to);
      if (ending_.finish) ending_.finish(to, static_cast<std::size_t>(rows * shape_.out.width));
    }
  }

 private:
  /// Padding is not written, for it is zeros from the beginning. But rows of it differ from one tile of a plane to the
  /// next.
  void copy(const float* plane, Extent first_row, Extent rows, float* tile) const {
    const Extent count = tiling_.input_rows(rows);
    const Extent top = tap_position(shape_.window, 0, first_row, 0);  // in the image
    const Extent begin = std::clamp<Extent>(-top, 0, count);
    const Extent end = std::clamp<Extent>(shape_.in.height - top, begin, count);
    if (tiling_.row_tiles() > 1) {
      std::fill_n(tile, begin * tiling_.pitch, 0.F);
      std::fill_n(tile + end * tiling_.pitch, (count - end) * tiling_.pitch, 0.F);
    }
    kernels_.copy({.from = plane + (top + begin) * shape_.in.width,
                   .from_pitch = shape_.in.width,
                   .rows = end - begin,
                   .columns = tiling_.columns,
                   .to = tile + begin * tiling_.pitch,
                   .to_pitch = tiling_.pitch,
                   .stride = shape_.window.stride[1],
                   .places = tiling_.column_places.data()});
  }

  void add_up(Extent filter, Extent rows, const float* tile, float* to) const {
    kernels_.add_up({.tile = tile,
                     .pitch = tiling_.pitch,
                     .stride = shape_.window.stride[0],
                     .weights = filters_.weights + filter * shape_.taps(),
                     .places = tiling_.tap_places.data(),
                     .taps = shape_.taps(),
                     .square = tiling_.square,
                     .bias = filters_.bias == nullptr ? 0.F : filters_.bias[filter],
                     .low = ending_.low,
                     .high = ending_.high,
                     .to = to,
                     .rows = rows,
                     .columns = shape_.out.width});
  }

  const Tiling& tiling_;
  const ConvolutionShape& shape_;
  const Kernels& kernels_;
  const Filters& filters_;
  const program::Ending& ending_;
};

}  // namespace

std::size_t scratch_size(const Tiling& tiling, int threads) {
  return static_cast<std::size_t>(threads * stride_of_tiles(tiling));
}

void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const program::Ending& ending) {
  const Convolver convolver(tiling, kernels, filters, ending);
#pragma omp parallel num_threads(threads)
  {
    float* const tile = scratch + omp_get_thread_num() * stride_of_tiles(tiling);
    std::fill_n(tile, tiling.tile_size(), 0.F);
#pragma omp for collapse(3) schedule(static)
    for (Extent image = 0; image < tiling.shape.out.images; ++image)
      for (Extent channel = 0; channel < Extent{tiling.shape.groups}; ++channel)
        for (Extent row_tile = 0; row_tile < tiling.row_tiles(); ++row_tile)
          convolver.run(image, channel, row_tile, input, tile, output);
  }
}

}  // namespace spdnn::depthwise
