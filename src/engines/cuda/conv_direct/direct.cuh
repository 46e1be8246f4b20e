#pragma once

// Kernels of direct convolutions; direct.hpp describes their data.
//
// Mapping. A lane has four images of one row of the tile's pixels, and a warp some filters, whose sums for all columns
// of the tile are in registers. An entry is read by all lanes at once; then a lane reads 16 bytes for each column.
//
// Bound. Shared memory, of which a lane reads 16 bytes for four multiply-adds; where a filter has few weights in a
// chunk, the latency of the first reads.

#include <bit>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda {

inline constexpr Index kDirectThreads = 32 * kDirectWarps;
inline constexpr Index kLanesOfPixel = 8;  ///< four images each

struct DirectArgs {
  DirectShape shape;
  DirectTiling tiling;
  Index across;  ///< tiles
  const std::byte* weights;
  std::size_t filters_at;
  std::size_t bias_at;
  std::size_t stage_bytes;  ///< of a chunk's tile and entries
  const float* x;
  float* y;
  Functions functions;
};

inline DirectArgs direct_args(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                              std::size_t part_bytes, const float* x, const Functions& functions, float* y) {
  return {.shape = shape,
          .tiling = tiling,
          .across = (shape.out[1] + tiling.columns - 1) / tiling.columns,
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

/// What a block computes. Blocks that read the same input are neighbours.
struct DirectPart {
  Index filters;   ///< block of filters
  Index first[2];  ///< pixel
  Index images;    ///< block of images

  __device__ explicit DirectPart(const DirectArgs& args) : filters(blockIdx.x % args.tiling.filter_blocks) {
    const Index tile = blockIdx.x / args.tiling.filter_blocks;
    const Index down = (args.shape.out[0] + kTileRows - 1) / kTileRows;
    first[0] = tile / args.across % down * kTileRows;
    first[1] = tile % args.across * args.tiling.columns;
    images = tile / args.across / down;
  }
};

/// Copies a chunk of the tile's input and its entries to shared memory; places outside the image become 0. A warp
/// copies a row of a channel at a time.
__device__ inline void read_chunk(const DirectArgs& args, const DirectPart& part, Index chunk, std::byte* to) {
  const DirectShape& shape = args.shape;
  const DirectTiling& tiling = args.tiling;
  const Index lane = threadIdx.x % 32;
  const auto left = static_cast<int>(part.first[1] * shape.stride[1]) - static_cast<int>(shape.pad[1]);
  const auto width = static_cast<int>(tiling.columns_read);
  const int from_lane = max(0, -left) * static_cast<int>(kLanesOfPixel);  // of a row, those in the image
  const int to_lane = max(0, min(width, static_cast<int>(shape.in[1]) - left)) * static_cast<int>(kLanesOfPixel);
  Index channel = chunk * tiling.channels;
  const Index end_channel = channel + tiling.channels;
  Index row = threadIdx.x / 32;
  std::byte* place = to + (row * width * kLanesOfPixel + lane) * sizeof(float4);
  while (true) {
    for (; row >= tiling.rows_read; row -= tiling.rows_read) ++channel;
    if (channel >= end_channel) break;
    const Index y = part.first[0] * shape.stride[0] + row - shape.pad[0];  // beyond H where it is negative
    const bool row_exists = channel < shape.channels && y < shape.in[0];
    const std::size_t pixel = std::size_t{part.images} * shape.in_block + channel * shape.in_channel + y * shape.in_row;
    const float* from = args.x + (static_cast<std::ptrdiff_t>(pixel) + left) * 32 + lane * 4;
    for (int i = static_cast<int>(lane), k = 0; i < width * static_cast<int>(kLanesOfPixel); i += 32, ++k) {
      std::byte* own = place + k * 32 * sizeof(float4);
      if (row_exists && i >= from_lane && i < to_lane)
        async_copy<16>(own, from + k * 128);
      else
        *reinterpret_cast<float4*>(own) = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    }
    row += kDirectWarps;
    place += kDirectWarps * width * kLanesOfPixel * sizeof(float4);
  }
  const Index* starts = reinterpret_cast<const Index*>(args.weights) + part.filters * tiling.chunks + chunk;
  const Index begin = __ldg(starts);
  const Index end = __ldg(starts + 1);
  for (Index i = begin + threadIdx.x * 16; i < end; i += kDirectThreads * 16)
    async_copy<16>(to + tiling.tile_bytes() + i - begin, args.weights + i);
  async_copy_commit();
}

/// Reads chunks, a tile's input and its entries, into one of two places in shared memory by all threads.
class ThreadsReader {
 public:
  struct Source {};

  __device__ ThreadsReader(const DirectArgs& args, const DirectPart& part, const Source& /*source*/, std::byte* memory)
      : args_(args), part_(part), memory_(memory) {}

  /// Chunks are started in order, at most one before the last one is waited for.
  __device__ void start(Index chunk) {
    read_chunk(args_, part_, chunk, memory_ + chunk % 2 * args_.stage_bytes);
    started_ = chunk;
  }
  /// Until all threads' copies of a chunk are there.
  __device__ void wait(Index chunk) const {
    if (started_ != chunk)
      async_copy_wait<1>();
    else
      async_copy_wait<0>();
    __syncthreads();
  }

 private:
  const DirectArgs& args_;
  const DirectPart& part_;
  std::byte* memory_;
  Index started_ = 0;
};

__device__ inline void multiply_add(float4& sum, float weight, const float4& x) {
  sum.x = fmaf(weight, x.x, sum.x);
  sum.y = fmaf(weight, x.y, sum.y);
  sum.z = fmaf(weight, x.z, sum.z);
  sum.w = fmaf(weight, x.w, sum.w);
}

/// kStride: of the columns, if it is known when the kernel is compiled; else 0.
template <Index kColumns, Index kFilters, Index kStride, class Reader>
__global__ void __launch_bounds__(kDirectThreads, 1)
    direct_kernel(const __grid_constant__ DirectArgs args, const __grid_constant__ typename Reader::Source source) {
  const DirectShape& shape = args.shape;
  const DirectTiling& tiling = args.tiling;
  std::byte* const memory = aligned_to_pixel(dynamic_shared<std::byte>());
  const DirectPart part(args);
  Reader reader(args, part, source, memory);
  const Index warp = threadIdx.x / 32;
  const Index row = threadIdx.x % 32 / kLanesOfPixel;
  const Index images = threadIdx.x % kLanesOfPixel * 4;
  const Index stride = kStride != 0 ? kStride : shape.stride[1];

  float4 sums[kFilters][kColumns] = {};
  reader.start(0);
  for (Index chunk = 0; chunk < tiling.chunks; ++chunk) {
    if (chunk + 1 < tiling.chunks) reader.start(chunk + 1);
    reader.wait(chunk);
    const std::uint32_t stage = shared_address(memory + chunk % 2 * args.stage_bytes);
    const auto entries = static_cast<std::uint32_t>(stage + tiling.tile_bytes());
    const std::uint32_t own = stage + (row * shape.stride[0] * tiling.columns_read * 32 + images) * sizeof(float);
    std::uint32_t begins[kFilters + 1];
    uint2 first_entry[kFilters];
#pragma unroll
    for (Index f = 0; f <= kFilters; ++f)
      begins[f] = entries + load_shared<std::uint32_t>(entries + (warp * kFilters + f) * sizeof(Index)) * sizeof(uint2);
#pragma unroll
    for (Index f = 0; f < kFilters; ++f) first_entry[f] = load_shared<uint2>(begins[f]);
#pragma unroll
    for (Index f = 0; f < kFilters; ++f) {
      uint2 next = first_entry[f];
#pragma unroll 1
      for (std::uint32_t at = begins[f]; at < begins[f + 1];) {
        const uint2 entry = next;
        at += sizeof(uint2);
        next = load_shared<uint2>(at);
        float4 x[kColumns];
#pragma unroll
        for (Index q = 0; q < kColumns; ++q)
          x[q] = load_shared<float4>(own + entry.x + q * stride * static_cast<Index>(kPixelBytes));
#pragma unroll
        for (Index q = 0; q < kColumns; ++q) multiply_add(sums[f][q], std::bit_cast<float>(entry.y), x[q]);
      }
    }
    __syncthreads();
  }

  const auto* filters =
      reinterpret_cast<const Index*>(args.weights + args.filters_at) + (part.filters * kDirectWarps + warp) * kFilters;
  const auto* bias = reinterpret_cast<const float*>(args.weights + args.bias_at);
  if (part.first[0] + row >= shape.out[0]) return;
#pragma unroll
  for (Index f = 0; f < kFilters; ++f) {
    const Index filter = __ldg(filters + f);
    if (filter == kNoFilter) continue;
    const float b = __ldg(bias + filter);
    const std::size_t place = (std::size_t{part.images} * shape.out_block + filter * shape.out_channel +
                               (part.first[0] + row) * shape.out_row + part.first[1]) *
                                  32 +
                              images;
#pragma unroll
    for (Index q = 0; q < kColumns; ++q) {
      if (part.first[1] + q >= shape.out[1]) break;
      const float4 sum = sums[f][q];
      const std::size_t at = place + q * 32;
      *reinterpret_cast<float4*>(args.y + at) =
          make_float4(apply(args.functions, sum.x + b, at), apply(args.functions, sum.y + b, at + 1),
                      apply(args.functions, sum.z + b, at + 2), apply(args.functions, sum.w + b, at + 3));
    }
  }
}

__global__ void __launch_bounds__(256)
    taps_kernel(const __grid_constant__ DirectShape shape, const Index* begins, const Tap* taps, const float* bias,
                const float* x, const __grid_constant__ Functions functions, float* y) {
  const Index lane = threadIdx.x % 32;
  const std::size_t plane = std::size_t{shape.out[0]} * shape.out[1];
  const std::size_t count = shape.blocks * shape.filters * plane;
  const std::size_t warps = std::size_t{gridDim.x} * (blockDim.x / 32);
  for (std::size_t i = std::size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32; i < count; i += warps) {
    const auto filter = static_cast<Index>(i / plane % shape.filters);
    const auto pixel = static_cast<Index>(i % plane);
    const auto row = static_cast<int>(pixel / shape.out[1] * shape.stride[0]);
    const auto column = static_cast<int>(pixel % shape.out[1] * shape.stride[1]);
    const float* from = x + i / plane / shape.filters * shape.in_block * 32 + lane;
    float sum = 0;
    for (Index t = begins[filter]; t < begins[filter + 1]; ++t) {
      const Tap tap = taps[t];
      const auto at_row = static_cast<Index>(row + tap.row);  // beyond H where it is negative
      const auto at_column = static_cast<Index>(column + tap.column);
      if (at_row >= shape.in[0] || at_column >= shape.in[1]) continue;
      sum = fmaf(tap.weight, from[(tap.channel * shape.in_channel + at_row * shape.in_row + at_column) * 32], sum);
    }
    const std::size_t place = i * 32 + lane;
    y[place] = apply(functions, sum + bias[filter], place);
  }
}

}  // namespace spdnn::cuda
