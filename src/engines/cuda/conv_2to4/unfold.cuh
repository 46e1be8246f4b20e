#pragma once

// Unfolding the input of a convolution whose channels have an order of their own at each tap.
//
// Mapping. A thread has 8 neighbouring columns, 16 bytes of a row, and writes them for kPixelsOfThread pixels, so that
// it reads where they come from once. Neighbouring threads have neighbouring columns, then pixels.
//
// Bound. The matrix is written once, 16 bytes by a thread; the elements are read from L1, 2 bytes at a time where the
// channels have an order.

#include <cuda_runtime_api.h>

#include "engines/cuda/conv_2to4/unfold.hpp"

namespace spdnn::cuda {

inline constexpr Index kColumnThreads = 256;
inline constexpr Index kColumnsOfThread = 8;
inline constexpr Index kPixelsOfThread = 16;

/// How a block's threads share columns and pixels.
struct ColumnTiles {
  Index wide;    ///< threads side by side
  Index tiles;   ///< blocks side by side
  Index pixels;  ///< of a block at a time
  Index blocks;
};

inline ColumnTiles column_tiles(const UnfoldedPiece& of) {
  const Index vectors = of.columns / kColumnsOfThread;
  ColumnTiles tiles{};
  tiles.tiles = (vectors + kColumnThreads - 1) / kColumnThreads;
  tiles.wide = (vectors + tiles.tiles - 1) / tiles.tiles;
  tiles.pixels = kColumnThreads / tiles.wide;
  const Index of_block = tiles.pixels * kPixelsOfThread;
  tiles.blocks = narrow<Index>(std::size_t{tiles.tiles} * ((of.pixels + of_block - 1) / of_block));
  return tiles;
}

/// Where a pixel's window begins.
struct PixelPlace {
  std::size_t image;
  int row;
  int column;
};

__device__ inline PixelPlace place_of_pixel(const UnfoldedPiece& of, std::size_t pixel) {
  const std::size_t line = pixel / of.out[1];
  return {line / of.out[0], static_cast<int>(line % of.out[0] * of.stride[0]),
          static_cast<int>(pixel % of.out[1] * of.stride[1])};
}

/// The channels of the input at a tap of a window; null in the padding.
__device__ inline const std::uint16_t* channels_at(const UnfoldedPiece& of, const std::uint16_t* x,
                                                   const PixelPlace& place, const ColumnSource& source) {
  const int row = place.row + source.row;
  const int column = place.column + source.column;
  const bool exists = static_cast<Index>(row) < of.in[0] && static_cast<Index>(column) < of.in[1];
  return exists ? x + ((place.image * of.in[0] + row) * of.in[1] + column) * of.channels : nullptr;
}

/// Whether all are at one tap, and whether they are neighbours that can be read together.
struct Likeness {
  bool one_tap;
  bool together;
};

__device__ inline Likeness likeness_of(const ColumnSource* sources, Index channels) {
  Likeness likeness{true,
                    channels % kColumnsOfThread == 0 && sources[0].channel % static_cast<int>(kColumnsOfThread) == 0};
  for (Index j = 1; j < kColumnsOfThread; ++j) {
    const bool same = sources[j].row == sources[0].row && sources[j].column == sources[0].column;
    likeness.one_tap = likeness.one_tap && (same || sources[j].channel < 0);
    likeness.together = likeness.together && same && sources[j].channel == sources[0].channel + static_cast<int>(j);
  }
  return likeness;
}

__global__ void __launch_bounds__(kColumnThreads)
    unfold_columns_kernel(const __grid_constant__ UnfoldedPiece of, const __grid_constant__ ColumnTiles tiles,
                          const ColumnSource* all, const std::uint16_t* x, std::uint16_t* matrix) {
  const Index vector = blockIdx.x % tiles.tiles * tiles.wide + threadIdx.x % tiles.wide;
  const Index slot = threadIdx.x / tiles.wide;
  if (slot >= tiles.pixels || vector >= of.columns / kColumnsOfThread) return;
  ColumnSource sources[kColumnsOfThread];
  for (Index j = 0; j < kColumnsOfThread; ++j) sources[j] = all[vector * kColumnsOfThread + j];
  const Likeness likeness = likeness_of(sources, of.channels);
  const Index first = blockIdx.x / tiles.tiles * tiles.pixels * kPixelsOfThread + slot;
  for (Index step = 0; step < kPixelsOfThread; ++step) {
    const Index pixel = first + step * tiles.pixels;
    if (pixel >= of.pixels) return;
    const PixelPlace place = place_of_pixel(of, of.first + pixel);
    const std::uint16_t* from = channels_at(of, x, place, sources[0]);
    uint4 numbers = make_uint4(0, 0, 0, 0);
    if (likeness.together) {
      if (from != nullptr) numbers = *reinterpret_cast<const uint4*>(from + sources[0].channel);
    } else {
      std::uint32_t halves[kColumnsOfThread];
      for (Index j = 0; j < kColumnsOfThread; ++j) {
        if (!likeness.one_tap) from = channels_at(of, x, place, sources[j]);
        halves[j] = from != nullptr && sources[j].channel >= 0 ? from[sources[j].channel] : 0;
      }
      numbers = make_uint4(halves[0] | halves[1] << 16U, halves[2] | halves[3] << 16U, halves[4] | halves[5] << 16U,
                           halves[6] | halves[7] << 16U);
    }
    *reinterpret_cast<uint4*>(matrix + std::size_t{pixel} * of.columns + vector * kColumnsOfThread) = numbers;
  }
}

}  // namespace spdnn::cuda
