#pragma once

// The steps of a block of conv_direct's kernel, and their copies to shared memory by all threads.

#include <cuda_runtime_api.h>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda {

inline constexpr Index kDirectThreads = 32 * kDirectWarps;

struct DirectArgs {
  DirectShape shape;
  DirectTiling tiling;
  Index across;  ///< tiles
  Index items;   ///< direct_items()
  const std::byte* weights;
  std::size_t filters_at;
  std::size_t bias_at;
  std::size_t stage_bytes;  ///< of a chunk's tile and entries
  const std::byte* x;
  std::byte* y;
  Functions functions;
};

inline DirectArgs direct_args(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                              std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y) {
  const DirectShape tiled = tiled_shape(shape, tiling.columns);
  return {.shape = tiled,
          .tiling = tiling,
          .across = (tiled.out[1] + tiling.columns - 1) / tiling.columns,
          .items = static_cast<Index>(direct_items(shape, tiling)),
          .weights = weights,
          .filters_at = DirectWeights::filters_at(tiling),
          .bias_at = DirectWeights::bias_at(tiling),
          .stage_bytes = direct_stage_bytes(tiling, part_bytes),
          .x = x,
          .y = y,
          .functions = functions};
}

/// The first place from there on where a copy by map may begin.
__device__ inline std::byte* aligned_to_pixel(std::byte* memory) {
  return memory + (kPixelBytes - shared_address(memory) % kPixelBytes) % kPixelBytes;
}

/// What a block computes at a time: a tile, of a block of filters. Blocks that read the same input at the same time are
/// neighbours.
struct DirectItem {
  Index filters;   ///< block of filters
  Index first[2];  ///< pixel
  Index images;    ///< block of images

  __device__ DirectItem(const DirectArgs& args, Index item) : filters(item % args.tiling.filter_blocks) {
    const DirectTiling& tiling = args.tiling;
    const Index tile = item / tiling.filter_blocks;
    const Index down = (args.shape.out[0] + tiling.form.images - 1) / tiling.form.images;
    first[0] = tile / args.across % down * tiling.form.images;
    first[1] = tile % args.across * tiling.columns;
    images = tile / args.across / down;
  }
};

/// The steps of this block, of which a launch has no more than items: the chunks of its items, one after another.
__device__ inline Index steps_of_block(const DirectArgs& args) {
  return (args.items - blockIdx.x + gridDim.x - 1) / gridDim.x * args.tiling.chunks;
}

/// What is copied for a step, to place step % 2: the tile, and behind it a part of the weights.
struct DirectCopy {
  DirectItem item;
  Index chunk;
  std::uint32_t part_begin;
  std::uint32_t part_bytes;

  __device__ DirectCopy(const DirectArgs& args, Index step)
      : item(args, blockIdx.x + step / args.tiling.chunks * gridDim.x), chunk(step % args.tiling.chunks) {
    const Index* starts = reinterpret_cast<const Index*>(args.weights) + item.filters * args.tiling.chunks + chunk;
    part_begin = __ldg(starts);
    part_bytes = __ldg(starts + 1) - part_begin;
  }
};

/// Copies the input of a step's tile to shared memory; places outside the image become 0. A warp copies a row of a
/// channel at a time.
template <std::size_t kBytesOfPixel>
__device__ void read_tile(const DirectArgs& args, const DirectCopy& copy, std::byte* to) {
  const DirectShape& shape = args.shape;
  const DirectTiling& tiling = args.tiling;
  constexpr Index kUnitsOfPixel = kBytesOfPixel / sizeof(float4);
  const Index lane = threadIdx.x % 32;
  const auto left = static_cast<int>(copy.item.first[1] * shape.stride[1]) - static_cast<int>(shape.pad[1]);
  const auto width = static_cast<int>(tiling.columns_read);
  const int from_lane = max(0, -left) * static_cast<int>(kUnitsOfPixel);  // of a row, those in the image
  const int to_lane = max(0, min(width, static_cast<int>(shape.in[1]) - left)) * static_cast<int>(kUnitsOfPixel);
  Index channel = copy.chunk * tiling.channels;
  const Index end_channel = channel + tiling.channels;
  Index row = threadIdx.x / 32;
  std::byte* place = to + (row * width * kUnitsOfPixel + lane) * sizeof(float4);
  while (true) {
    for (; row >= tiling.rows_read; row -= tiling.rows_read) ++channel;
    if (channel >= end_channel) break;
    const Index y = copy.item.first[0] * shape.stride[0] + row - shape.pad[0];  // beyond H where it is negative
    const bool row_exists = channel < shape.channels && y < shape.in[0];
    const std::size_t pixel =
        std::size_t{copy.item.images} * shape.in_block + channel * shape.in_channel + y * shape.in_row;
    const std::byte* from = args.x +
                            (static_cast<std::ptrdiff_t>(pixel) + left) * static_cast<std::ptrdiff_t>(kBytesOfPixel) +
                            lane * sizeof(float4);
    for (int i = static_cast<int>(lane), k = 0; i < width * static_cast<int>(kUnitsOfPixel); i += 32, ++k) {
      std::byte* own = place + k * 32 * sizeof(float4);
      if (row_exists && i >= from_lane && i < to_lane)
        async_copy<16>(own, from + k * 32 * sizeof(float4));
      else
        *reinterpret_cast<float4*>(own) = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    }
    row += kDirectWarps;
    place += kDirectWarps * width * kUnitsOfPixel * sizeof(float4);
  }
}

/// Reads the tiles and the entries of steps into one of two places in shared memory by all threads.
template <std::size_t kBytesOfPixel = kPixelBytes>
class ThreadsReader {
 public:
  struct Source {};

  __device__ ThreadsReader(const DirectArgs& args, const Source& /*source*/, std::byte* memory)
      : args_(args), memory_(memory), steps_(steps_of_block(args)) {}

  /// Steps are started in order, at most one before the last one is waited for.
  __device__ void start(Index step) {
    if (step >= steps_) return;
    const DirectCopy copy(args_, step);
    std::byte* const to = memory_ + step % 2 * args_.stage_bytes;
    read_tile<kBytesOfPixel>(args_, copy, to);
    for (Index i = threadIdx.x * 16; i < copy.part_bytes; i += kDirectThreads * 16)
      async_copy<16>(to + args_.tiling.tile_bytes() + i, args_.weights + copy.part_begin + i);
    async_copy_commit();
    started_ = step;
  }
  /// Until all threads' copies of a step are there.
  __device__ void wait(Index step) const {
    if (started_ != step)
      async_copy_wait<1>();
    else
      async_copy_wait<0>();
    __syncthreads();
  }
  /// The warp is done with a step, and the one after the next may take its place.
  __device__ void release(Index step) {
    __syncthreads();
    start(step + 2);
  }

 private:
  const DirectArgs& args_;
  std::byte* memory_;
  Index steps_;
  Index started_ = 0;
};

}  // namespace spdnn::cuda
