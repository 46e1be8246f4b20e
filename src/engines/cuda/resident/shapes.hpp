#pragma once

// The tile shapes of the `resident` engine. Measured on an H200: results/h200/structure_free.md.

#include <array>

#include "engines/cuda/resident/layout.hpp"

namespace spdnn::cuda {

/// A tile shape, and its kernels' use of a multiprocessor.
struct ResidentShape {
  TileShape tile;
  Index blocks = 1;          ///< thread blocks per multiprocessor
  Index chunks_ahead = 1;    ///< chunks that a thread has read before it adds the first
  bool also_uneven = false;  ///< there are kernels for uneven layouts too
};

namespace resident {

/// Shapes of large tiles, of which a plan uses the first that fits, then those of small tiles.
template <std::size_t kLarge, std::size_t kSmall>
struct ShapeTable {
  static constexpr std::size_t kLargeTiles = kLarge;
  std::array<ResidentShape, kLarge + kSmall> all;
};

/// Several small blocks share a multiprocessor for small networks; then tiles have ever fewer images as networks get
/// wider. If 16 warps share a multiprocessor, a chunk takes a warp 128 cycles per image of a thread; the latency of L2
/// is about 300, so threads with few images read several chunks ahead.
inline constexpr ShapeTable<8, 3> kFp32Shapes{{{
    {.tile = {.images = 32, .lane_images = 16, .threads = 128, .rounds = 1}, .blocks = 4, .chunks_ahead = 2},
    {.tile = {.images = 32, .lane_images = 16, .threads = 256, .rounds = 1}, .blocks = 2, .chunks_ahead = 2},
    {.tile = {.images = 32, .lane_images = 16, .threads = 256, .rounds = 2}, .blocks = 2, .chunks_ahead = 2},
    {.tile = {.images = 32, .lane_images = 16, .threads = 512, .rounds = 4}, .also_uneven = true},
    {.tile = {.images = 16, .lane_images = 8, .threads = 512, .rounds = 8}, .also_uneven = true},
    {.tile = {.images = 8, .lane_images = 8, .threads = 512, .rounds = 8}, .also_uneven = true},
    {.tile = {.images = 4, .lane_images = 4, .threads = 512, .rounds = 16}, .chunks_ahead = 2, .also_uneven = true},
    {.tile = {.images = 2, .lane_images = 2, .threads = 1024, .rounds = 16}, .chunks_ahead = 2, .also_uneven = true},
    // Small tiles.
    {.tile = {.images = 8, .lane_images = 8, .threads = 64, .rounds = 1}, .blocks = 8, .chunks_ahead = 4},
    {.tile = {.images = 8, .lane_images = 8, .threads = 256, .rounds = 1}, .blocks = 2, .chunks_ahead = 4},
    {.tile = {.images = 16, .lane_images = 8, .threads = 512, .rounds = 4}, .chunks_ahead = 2},
}}};

/// Activations stored as halves: twice the images of fp32 in as much shared memory, at most 32 in a tile, so that the
/// smaller networks have two blocks per multiprocessor where fp32 has one. Sums stay fp32, and a thread's finished
/// outputs, halves too, take the registers that fp32 ones take.
inline constexpr ShapeTable<6, 1> kFp16Shapes{{{
    {.tile = {.images = 32, .lane_images = 16, .threads = 256, .rounds = 2, .activation_bytes = 2},
     .blocks = 2,
     .chunks_ahead = 2},
    {.tile = {.images = 32, .lane_images = 16, .threads = 256, .rounds = 8, .activation_bytes = 2}, .blocks = 2},
    {.tile = {.images = 32, .lane_images = 16, .threads = 512, .rounds = 8, .activation_bytes = 2}},
    {.tile = {.images = 16, .lane_images = 16, .threads = 512, .rounds = 8, .activation_bytes = 2}},
    {.tile = {.images = 8, .lane_images = 8, .threads = 512, .rounds = 16, .activation_bytes = 2}, .chunks_ahead = 2},
    {.tile = {.images = 4, .lane_images = 4, .threads = 1024, .rounds = 16, .activation_bytes = 2}, .chunks_ahead = 2},
    // Small tiles.
    {.tile = {.images = 16, .lane_images = 8, .threads = 512, .rounds = 4, .activation_bytes = 2}, .chunks_ahead = 2},
}}};

}  // namespace resident

}  // namespace spdnn::cuda
