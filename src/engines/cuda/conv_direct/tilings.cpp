// How convolutions are divided into tiles, and how long that is predicted to take.

#include <algorithm>
#include <cmath>

#include "engines/cuda/conv_direct/direct.hpp"

namespace spdnn::cuda {

namespace {

constexpr Index kMostChannels = 128;  ///< of a chunk: the first copy delays a block

std::size_t tiles_of(const DirectShape& shape, const DirectTiling& tiling) {
  const DirectShape tiled = tiled_shape(shape, tiling.columns);
  const std::size_t across = (tiled.out[1] + tiling.columns - 1) / tiling.columns;
  return across * ((tiled.out[0] + tiling.form.images - 1) / tiling.form.images);
}

/// Divides the channels into as few chunks as fit; false if not even one channel does.
bool divide_channels(const DirectShape& shape, std::size_t nonzeros, std::size_t block_bytes, DirectTiling& tiling) {
  // Two chunks are in shared memory, with the entries of a block of filters: of these some have more than others.
  constexpr double kUneven = 3;
  const double entries = kUneven * static_cast<double>(nonzeros) / std::max(Index{1}, tiling.filter_blocks) /
                         std::max(Index{1}, shape.channels);
  const double bytes =
      static_cast<double>(tiling.rows_read) * tiling.columns_read * static_cast<double>(tiling.form.pixel_bytes()) +
      static_cast<double>(DirectWeights::kEntryBytes) * entries;
  const double most =
      (static_cast<double>(block_bytes) / 2 - static_cast<double>(DirectWeights::head_bytes(tiling))) / bytes;
  if (most < 1) return false;
  tiling.channels = std::min({kMostChannels, shape.channels, static_cast<Index>(std::min(most, 1e6))});
  tiling.chunks = (shape.channels + tiling.channels - 1) / tiling.channels;
  tiling.channels = (shape.channels + tiling.chunks - 1) / tiling.chunks;
  return true;
}

/// Into how many blocks the filters may be divided: as few as there can be, or as many as give each multiprocessor
/// work.
std::vector<Index> filter_divisions(const DirectShape& shape, const DirectTiling& tiling, Index multiprocessors) {
  const auto blocks_of = [&](Index filters) { return (shape.filters + filters - 1) / filters; };
  std::vector<Index> divisions{blocks_of(kDirectWarps * tiling.filters)};
  if (tiling.form.equal) return divisions;  // whose filters are not spread over the warps
  const std::size_t tiles = tiles_of(shape, tiling) * shape.blocks;
  for (Index rounds = 1; rounds <= 3; ++rounds) {
    const auto blocks = static_cast<Index>(std::size_t{rounds} * multiprocessors / std::max(tiles, std::size_t{1}));
    if (const Index useful = std::min(blocks, blocks_of(kDirectWarps)); useful > divisions.back())
      divisions.push_back(useful);
  }
  return divisions;
}

}  // namespace

DirectShape tiled_shape(const DirectShape& shape, Index columns) {
  const auto is_plain = [&](std::size_t axis) {
    return shape.kernel[axis] == 1 && shape.stride[axis] == 1 && shape.in[axis] == shape.out[axis] &&
           shape.pad[axis] == 0;
  };
  const Index plane = shape.in[0] * shape.in[1];
  const bool is_one_row = shape.in_row == shape.in[1] && shape.in_channel == plane;
  DirectShape tiled = shape;
  if (!is_plain(0) || !is_plain(1) || !is_one_row || plane % columns != 0) return tiled;
  for (std::size_t axis = 0; axis < 2; ++axis) tiled.in[axis] = tiled.out[axis] = axis == 0 ? plane / columns : columns;
  tiled.in_row = tiled.out_row = columns;
  return tiled;
}

std::size_t direct_items(const DirectShape& shape, const DirectTiling& tiling) {
  return tiles_of(shape, tiling) * shape.blocks * tiling.filter_blocks;
}

std::vector<DirectTiling> direct_tilings(const DirectShape& shape, std::size_t nonzeros, const DirectDevice& device,
                                         const DirectForm& form) {
  const auto read = [&](Index pixels, std::size_t axis) {
    return (pixels - 1) * shape.stride[axis] + (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
  };
  std::vector<DirectTiling> tilings;
  for (const Index columns : {7U, 4U, 2U, 1U}) {
    // Forms that are only compared with others have no more instances of the kernel.
    if (columns != 7 && (form.equal || form.half)) break;
    DirectTiling tiling{.form = form, .columns = columns, .filters = filters_of_warp(columns, form)};
    tiling.rows_read = read(form.images, 0);
    tiling.columns_read = read(columns, 1);
    if (form.half) tiling.columns_read |= 1U;  // so that the two rows that are read at the same time have other banks
    for (const Index filter_blocks : filter_divisions(shape, tiling, device.multiprocessors)) {
      tiling.filter_blocks = filter_blocks;
      if (static_cast<double>(tiles_of(shape, tiling)) * tiling.filter_blocks * shape.blocks > 0x7fffffff) continue;
      if (!divide_channels(shape, nonzeros, device.block_bytes, tiling)) continue;
      tilings.push_back(tiling);
    }
  }
  return tilings;
}

std::optional<DirectTiling> direct_tiling(const DirectShape& shape, std::size_t nonzeros, const DirectDevice& device,
                                          const DirectForm& form) {
  const std::vector<DirectTiling> tilings = direct_tilings(shape, nonzeros, device, form);
  const auto seconds = [&](const DirectTiling& tiling) {
    return direct_seconds(shape, tiling, nonzeros, device.multiprocessors);
  };
  const auto fastest = std::min_element(tilings.begin(), tilings.end(),
                                        [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  return fastest == tilings.end() ? std::nullopt : std::optional(*fastest);
}

double direct_seconds(const DirectShape& shape, const DirectTiling& tiling, std::size_t entries,
                      Index multiprocessors) {
  // Fitted to all tilings of layers of 128 images on an H200.
  constexpr double kEnds = 7e-6;        // the launch, the first step's copy, and storing the last sums
  constexpr double kItem = 1.7e-6;      // storing sums
  constexpr double kFilter = 0.075e-6;  // of a warp in a step: the first reads
  constexpr double kClock = 1.95e9;     // Hz; 128 bytes of shared memory are read or written in a clock
  constexpr double kBytesPerClock = 128;
  constexpr double kBytesPerSecond = 3.63e12;  // of device memory
  const auto pixel = static_cast<double>(tiling.form.pixel_bytes());
  const double pixels = static_cast<double>(tiling.form.images) * tiling.columns;
  const double share = 1.0 / std::max(tiling.filter_blocks, Index{1});  // of the filters
  // Where some warps have a filter more than others, these wait for them after each chunk, if not all the time.
  const double filters_of_warp = std::max(1.0, shape.filters * share) / kDirectWarps;
  const double uneven = std::sqrt(std::ceil(filters_of_warp) / filters_of_warp);
  const double clocks = static_cast<double>(entries) * share * uneven * (1 + pixels * pixel / kBytesPerClock) +
                        static_cast<double>(tiling.tile_bytes()) * tiling.chunks / kBytesPerClock;
  const double item = clocks / kClock + kFilter * tiling.filters * tiling.chunks + kItem;
  const double rounds = std::ceil(static_cast<double>(direct_items(shape, tiling)) / multiprocessors);
  const double numbers = static_cast<double>(shape.in[0]) * shape.in[1] * shape.channels +
                         static_cast<double>(shape.out[0]) * shape.out[1] * shape.filters;
  const double moving = numbers * shape.blocks * pixel / kBytesPerSecond;
  // Sums and copies run at the same time, but not perfectly so where they take about as long.
  return kEnds + std::cbrt(std::pow(rounds * item, 3) + std::pow(moving, 3));
}

}  // namespace spdnn::cuda
