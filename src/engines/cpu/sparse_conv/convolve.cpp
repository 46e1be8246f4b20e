#include "engines/cpu/sparse_conv/convolve.hpp"

#include <omp.h>

#include <algorithm>

#include "engines/cpu/lanes/runnable.hpp"
#include "program/predict.hpp"

namespace spdnn::sparse_conv {

namespace {

/// Measured over predicted time, in units in which oneDNN's dense kernels take the predicted one: of layers with 30 to
/// 60 % zeros, where it decides between them, on one core of a Zen 3. Cycles of AVX-512 are fitted to whole layers.
constexpr double kLeftOut = 1.27;

/// Convolutions with a larger share of weights that are not zero are faster with their zeros, whatever their shape.
constexpr double kDensest = 0.7;

/// To a cache line of numbers.
Extent rounded_up(Extent count) { return (count + 15) / 16 * 16; }

Extent sums_size(const Tiling& tiling) {
  return tiling.shape.filters() * tiling.vectors(tiling.rows, tiling.columns) * tiling.lanes;
}

/// A tile of one image and group, and the filters that are computed on it.
struct Item {
  Item(const Tiling& tiling, Extent number) {
    const auto next = [&](Extent extent) {
      const Extent remainder = number % extent;
      number /= extent;
      return remainder;
    };
    part = next(tiling.parts);
    first_column = next(tiling.column_tiles()) * tiling.columns;
    first_row = next(tiling.row_tiles()) * tiling.rows;
    group = next(tiling.shape.groups);
    image = number;
    rows = std::min(tiling.rows, tiling.shape.out.height - first_row);
    columns = std::min(tiling.columns, tiling.shape.out.width - first_column);
  }
  static Extent count(const Tiling& tiling) {
    return tiling.shape.out.images * tiling.shape.groups * tiling.row_tiles() * tiling.column_tiles() * tiling.parts;
  }

  Extent image;
  Extent group;
  Extent first_row;
  Extent first_column;
  Extent rows;
  Extent columns;
  Extent part;
};

class Convolver {
 public:
  Convolver(const Tiling& tiling, const Kernels& kernels, const Filters& filters, const program::Ending& ending)
      : tiling_(tiling), shape_(tiling.shape), kernels_(kernels), filters_(filters), ending_(ending) {}

  void run(const Item& item, const float* input, float* tile, float* sums, float* output) const {
    const Extent vectors = tiling_.vectors(item.rows, item.columns);
    const Extent sums_of_filter = vectors * tiling_.lanes;
    float* const results = results_of(item, output);
    AddUp task{.rows = nullptr,
               .count = 0,
               .entries = nullptr,
               .tile = tile,
               .sums = sums,
               .vectors = static_cast<std::int32_t>(vectors),
               .first = true,
               .last = false,
               .to = sums,
               .to_stride = sums_of_filter,
               .pixels = sums_of_filter,
               .fetch = false,
               .ending = {}};
    const bool adjacent = tiling_.adjacent(item.rows);
    for (Extent block = 0; block < tiling_.blocks(); ++block) {
      if (tiling_.in_place)
        task.tile = pixels_of(item, block, input) + item.first_column;
      else
        copy(item, block, input, tile);
      const Block& entries = filters_.block(item.group, item.part, block);
      task.rows = filters_.rows(entries);
      task.count = entries.rows;
      task.entries = filters_.entries(entries);
      task.first = block == 0;
      task.last = block + 1 == tiling_.blocks();
      if (adjacent && task.last) {
        task.to = results;
        task.to_stride = shape_.out.pixels();
        task.pixels = item.rows * item.columns;
        task.fetch = tiling_.fetch;
        task.ending = ending_for(results, output);
      }
      kernels_.add_up(task);
    }
    if (!adjacent) leave(item, sums, sums_of_filter, results, output);
    if (ending_.finish) finish(item, results);
  }

 private:
  /// The first channel of a block.
  const float* pixels_of(const Item& item, Extent block, const float* input) const {
    const Extent channel = item.group * shape_.channels() + block * tiling_.channels;
    return input + (item.image * shape_.in.channels + channel) * shape_.in.pixels();
  }

  void copy(const Item& item, Extent block, const float* input, float* tile) const {
    const Window& window = shape_.window;
    const Extent first = block * tiling_.channels;
    Copy task{.from = pixels_of(item, block, input),
              .from_stride = shape_.in.pixels(),
              .to = tile,
              .to_stride = tiling_.channel_size(),
              .channels = std::min(tiling_.channels, shape_.channels() - first),
              .pitch = tiling_.pitch,
              .rows = {},
              .columns = {}};
    for (const Extent down : tiling_.down.first)
      for (const Extent across : tiling_.across.first) {
        task.rows = {.first = tap_position(window, 0, item.first_row, 0) + down,
                     .step = window.stride[0],
                     .count = item.rows + tiling_.down.most_shift,
                     .extent = shape_.in.height};
        task.columns = {.first = tap_position(window, 1, item.first_column, 0) + across,
                        .step = window.stride[1],
                        .count = tiling_.plane_columns(),
                        .extent = shape_.in.width};
        kernels_.copy(task);
        task.to += tiling_.plane_size();
      }
  }

  const Part& part_of(const Item& item) const { return filters_.part(item.group, item.part); }

  /// Where the first result of the part's first filter is.
  float* results_of(const Item& item, float* output) const {
    const ImageExtents& out = shape_.out;
    const Extent channel = item.group * shape_.filters() + part_of(item).first;
    return output + (item.image * out.channels + channel) * out.pixels() + item.first_row * out.width +
           item.first_column;
  }

  /// For results stored from there on.
  Ending ending_for(const float* to, const float* output) const {
    return {ending_.function, ending_.added == nullptr ? nullptr : ending_.added + (to - output),
            ending_.after_addition};
  }

  void leave(const Item& item, const float* sums, Extent sums_of_filter, float* results, const float* output) const {
    for (Extent filter = 0; filter < part_of(item).count; ++filter) {
      float* const to = results + filter * shape_.out.pixels();
      kernels_.leave({.sums = sums + filter * sums_of_filter,
                      .pitch = tiling_.pitch,
                      .to = to,
                      .to_pitch = shape_.out.width,
                      .rows = item.rows,
                      .columns = item.columns,
                      .ending = ending_for(to, output)});
    }
  }

  void finish(const Item& item, float* to) const {
    const bool adjacent = item.columns == shape_.out.width;  // rows of the tile
    const Extent pieces = adjacent ? 1 : item.rows;
    const Extent count = adjacent ? item.rows * item.columns : item.columns;
    for (Extent filter = 0; filter < part_of(item).count; ++filter)
      for (Extent piece = 0; piece < pieces; ++piece)
        ending_.finish(to + filter * shape_.out.pixels() + piece * shape_.out.width, static_cast<std::size_t>(count));
  }

  const Tiling& tiling_;
  const ConvolutionShape& shape_;
  const Kernels& kernels_;
  const Filters& filters_;
  const program::Ending& ending_;
};

}  // namespace

bool is_sparse(const CsrMatrix& weights) {
  const double all = static_cast<double>(weights.rows) * weights.cols;
  return static_cast<double>(weights.entries()) <= kDensest * all;
}

double predicted_seconds(const Tiling& tiling) {
  const double per_cycle = lanes::multiply_adds_per_cycle(tiling.lanes);
  const double left_out = tiling.lanes == 16 && !lanes::computes_in_halves(16) ? 1 : kLeftOut;
  return program::kActionSeconds + left_out * tiling.cycles * per_cycle / program::kMultiplyAddsPerSecond;
}

std::size_t scratch_size(const Tiling& tiling, int threads) {
  return static_cast<std::size_t>(threads * (rounded_up(tiling.tile_size()) + rounded_up(sums_size(tiling))));
}

void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const program::Ending& ending) {
  const Convolver convolver(tiling, kernels, filters, ending);
  const Extent items = Item::count(tiling);
  const Extent tile_size = rounded_up(tiling.tile_size());
#pragma omp parallel num_threads(threads) if (omp_get_max_threads() > 1)
  {
    float* const tile = scratch + omp_get_thread_num() * (tile_size + rounded_up(sums_size(tiling)));
    // The last registers of a row read what lies behind it; numbers from other runs might be slow to multiply.
    std::fill_n(tile, tile_size, 0.F);
#pragma omp for schedule(dynamic, 1)
    for (Extent number = 0; number < items; ++number)
      convolver.run(Item(tiling, number), input, tile, tile + tile_size, output);
  }
}

}  // namespace spdnn::sparse_conv
