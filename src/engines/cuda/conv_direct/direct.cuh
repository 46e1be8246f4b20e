#pragma once

// The kernel of direct convolutions; direct.hpp describes its data.
//
// Mapping. A lane has some images, four in conv_direct, of one row of the tile's pixels, and a warp some filters, whose
// sums for all columns of the tile are in registers. An entry is read by all lanes at once; then a lane reads its
// images of a pixel for each column. In an equal form the entries of a warp's filters take turns, so that one loop has
// the reads of all filters under way; in the other one filter follows another.
//
// Bound. Shared memory, of which a lane reads 16 bytes for four multiply-adds; where a filter has few weights in a
// chunk and is alone, the latency of the first reads.

#include <cuda_fp16.h>

#include <bit>
#include <type_traits>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda {

inline constexpr Index kDirectThreads = 32 * kDirectWarps;
struct DirectArgs {
  DirectShape shape;
  DirectTiling tiling;
  Index across;  ///< tiles
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

  __device__ DirectPart(const DirectArgs& args, Index rows) : filters(blockIdx.x % args.tiling.filter_blocks) {
    const Index tile = blockIdx.x / args.tiling.filter_blocks;
    const Index down = (args.shape.out[0] + rows - 1) / rows;
    first[0] = tile / args.across % down * rows;
    first[1] = tile % args.across * args.tiling.columns;
    images = tile / args.across / down;
  }
};

/// Copies a chunk of the tile's input and its entries to shared memory; places outside the image become 0. A warp
/// copies a row of a channel at a time.
template <std::size_t kBytesOfPixel>
__device__ void read_chunk(const DirectArgs& args, const DirectPart& part, Index chunk, std::byte* to) {
  const DirectShape& shape = args.shape;
  const DirectTiling& tiling = args.tiling;
  constexpr Index kUnitsOfPixel = kBytesOfPixel / sizeof(float4);
  const Index lane = threadIdx.x % 32;
  const auto left = static_cast<int>(part.first[1] * shape.stride[1]) - static_cast<int>(shape.pad[1]);
  const auto width = static_cast<int>(tiling.columns_read);
  const int from_lane = max(0, -left) * static_cast<int>(kUnitsOfPixel);  // of a row, those in the image
  const int to_lane = max(0, min(width, static_cast<int>(shape.in[1]) - left)) * static_cast<int>(kUnitsOfPixel);
  Index channel = chunk * tiling.channels;
  const Index end_channel = channel + tiling.channels;
  Index row = threadIdx.x / 32;
  std::byte* place = to + (row * width * kUnitsOfPixel + lane) * sizeof(float4);
  while (true) {
    for (; row >= tiling.rows_read; row -= tiling.rows_read) ++channel;
    if (channel >= end_channel) break;
    const Index y = part.first[0] * shape.stride[0] + row - shape.pad[0];  // beyond H where it is negative
    const bool row_exists = channel < shape.channels && y < shape.in[0];
    const std::size_t pixel = std::size_t{part.images} * shape.in_block + channel * shape.in_channel + y * shape.in_row;
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
  const Index* starts = reinterpret_cast<const Index*>(args.weights) + part.filters * tiling.chunks + chunk;
  const Index begin = __ldg(starts);
  const Index end = __ldg(starts + 1);
  for (Index i = begin + threadIdx.x * 16; i < end; i += kDirectThreads * 16)
    async_copy<16>(to + tiling.tile_bytes() + i - begin, args.weights + i);
  async_copy_commit();
}

/// Reads chunks, a tile's input and its entries, into one of two places in shared memory by all threads.
template <std::size_t kBytesOfPixel = kPixelBytes>
class ThreadsReader {
 public:
  struct Source {};

  __device__ ThreadsReader(const DirectArgs& args, const DirectPart& part, const Source& /*source*/, std::byte* memory)
      : args_(args), part_(part), memory_(memory) {}

  /// Chunks are started in order, at most one before the last one is waited for.
  __device__ void start(Index chunk) {
    read_chunk<kBytesOfPixel>(args_, part_, chunk, memory_ + chunk % 2 * args_.stage_bytes);
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

__device__ inline void multiply_add(float2& sum, float weight, const float2& x) {
  sum.x = fmaf(weight, x.x, sum.x);
  sum.y = fmaf(weight, x.y, sum.y);
}
__device__ inline void multiply_add(float4& sum, float weight, const float4& x) {
  sum.x = fmaf(weight, x.x, sum.x);
  sum.y = fmaf(weight, x.y, sum.y);
  sum.z = fmaf(weight, x.z, sum.z);
  sum.w = fmaf(weight, x.w, sum.w);
}

/// Two halves of a word.
__device__ inline const __half2& as_halves(const std::uint32_t& word) { return reinterpret_cast<const __half2&>(word); }
/// Adds products of halves to sums of halves.
__device__ inline void multiply_add(__half2 (&sums)[2], __half2 weight, const uint2& x) {
  sums[0] = __hfma2(weight, as_halves(x.x), sums[0]);
  sums[1] = __hfma2(weight, as_halves(x.y), sums[1]);
}
__device__ inline void add_halves(float4& sum, const __half2 (&halves)[2]) {
  const float2 low = __half22float2(halves[0]);
  const float2 high = __half22float2(halves[1]);
  sum = make_float4(sum.x + low.x, sum.y + low.y, sum.z + high.x, sum.w + high.y);
}

/// x = function(x, place) for neighbouring images, of which the first is at that place.
template <class Function>
__device__ void change_each(float2& x, std::size_t at, const Function& function) {
  x = make_float2(function(x.x, at), function(x.y, at + 1));
}
template <class Function>
__device__ void change_each(float4& x, std::size_t at, const Function& function) {
  x = make_float4(function(x.x, at), function(x.y, at + 1), function(x.z, at + 2), function(x.w, at + 3));
}

/// Writes numbers of neighbouring images.
template <bool kHalf, class Sum>
__device__ void write_images(std::byte* y, std::size_t at, const Sum& sum) {
  if constexpr (kHalf) {
    alignas(uint2) const __half2 halves[] = {__floats2half2_rn(sum.x, sum.y), __floats2half2_rn(sum.z, sum.w)};
    *reinterpret_cast<uint2*>(y + at * sizeof(__half)) = reinterpret_cast<const uint2&>(halves);
  } else {
    *reinterpret_cast<Sum*>(y + at * sizeof(float)) = sum;
  }
}

/// The images of a lane, in pieces of at most four. Eight are two pieces, half a pixel apart: lanes of odd rows begin
/// with the second half, so that the lanes that read at the same time, of two rows, read different banks.
template <Index kImages>
struct LaneImages {
  using Piece = std::conditional_t<kImages == 2, float2, float4>;
  static constexpr Index kOfPiece = sizeof(Piece) / sizeof(float);
  static constexpr Index kPieces = kImages / kOfPiece;
  static constexpr Index kLanes = 32 / kImages;  ///< of a pixel
  Index row;                                     ///< of the tile
  Index first;                                   ///< image
  int other_piece;                               ///< images from the first piece on, if there are two

  __device__ explicit LaneImages(Index lane)
      : row(lane / kLanes),
        first(lane % kLanes * kOfPiece + (kPieces - 1) * (row % 2 * 16)),
        other_piece(row % 2 == 0 ? 16 : -16) {}
  __device__ std::size_t image(Index piece) const { return first + piece * other_piece; }
};

/// What the kernel knows of its tiling when it is compiled.
template <Index kColumnsOfTile, Index kStrideOfColumns, Index kImagesOfLane = 4, bool kEqualFilters = false,
          bool kHalf = false>
struct DirectConfig {
  static constexpr DirectForm kForm{kImagesOfLane, kEqualFilters, kHalf};
  static constexpr Index kColumns = kColumnsOfTile;
  static constexpr Index kFilters = filters_of_warp(kColumns, kForm);
  static constexpr Index kStride = kStrideOfColumns;  ///< 0: not known
};

/// Adds an entry's products with the pixels of all columns. `own`: the lane's images of the first pixel.
template <class Config, class Piece, Index kPieces>
__device__ void add_products(const uint2& entry, std::uint32_t own, std::uint32_t column_step, int piece_step,
                             Piece (&sums)[Config::kColumns][kPieces]) {
#pragma unroll
  for (Index piece = 0; piece < kPieces; ++piece) {
    Piece x[Config::kColumns];
#pragma unroll
    for (Index q = 0; q < Config::kColumns; ++q)
      x[q] = load_shared<Piece>(own + entry.x + piece * piece_step + q * column_step);
#pragma unroll
    for (Index q = 0; q < Config::kColumns; ++q) multiply_add(sums[q][piece], std::bit_cast<float>(entry.y), x[q]);
  }
}

/// Multiplies a warp's entries of a chunk, one filter after another. `entries`: the part of the weights.
template <class Config, class Add>
__device__ void each_filter_alone(std::uint32_t entries, Index warp, Add add) {
  constexpr Index kFilters = Config::kFilters;
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
      add(f, entry);
    }
  }
}

/// Likewise one filter after another, with products of halves, some of which are added before they are added to the
/// sums. `own`, `column_step`: as of add_products().
template <class Config>
__device__ void each_filter_of_halves(std::uint32_t entries, Index warp, std::uint32_t own, std::uint32_t column_step,
                                      float4 (&sums)[Config::kFilters][Config::kColumns][1]) {
#pragma unroll
  for (Index f = 0; f < Config::kFilters; ++f) {
    const std::uint32_t list = entries + (warp * Config::kFilters + f) * sizeof(Index);
    std::uint32_t at = entries + load_shared<std::uint32_t>(list) * sizeof(uint2);
    const std::uint32_t end = entries + load_shared<std::uint32_t>(list + sizeof(Index)) * sizeof(uint2);
    uint2 next = load_shared<uint2>(at);
#pragma unroll 1
    while (at < end) {
      __half2 halves[Config::kColumns][2] = {};
      const std::uint32_t stop = min(end, at + kTermsInHalves * static_cast<std::uint32_t>(sizeof(uint2)));
#pragma unroll 1
      while (at < stop) {
        const uint2 entry = next;
        at += sizeof(uint2);
        next = load_shared<uint2>(at);
        uint2 x[Config::kColumns];
#pragma unroll
        for (Index q = 0; q < Config::kColumns; ++q) x[q] = load_shared<uint2>(own + entry.x + q * column_step);
#pragma unroll
        for (Index q = 0; q < Config::kColumns; ++q) multiply_add(halves[q], as_halves(entry.y), x[q]);
      }
#pragma unroll
      for (Index q = 0; q < Config::kColumns; ++q) add_halves(sums[f][q][0], halves[q]);
    }
  }
}

/// Likewise, where all filters have equally many entries, in turns.
template <class Config, class Add>
__device__ void all_filters_at_once(std::uint32_t entries, Index warp, Add add) {
  constexpr Index kFilters = Config::kFilters;
  const auto begin_of = [&](Index list) {
    return entries + load_shared<std::uint32_t>(entries + list * sizeof(Index)) * sizeof(uint2);
  };
  const std::uint32_t end = begin_of(warp + 1);
  std::uint32_t at = begin_of(warp);
  uint2 next[kFilters];
#pragma unroll
  for (Index f = 0; f < kFilters; ++f) next[f] = load_shared<uint2>(at + f * sizeof(uint2));
#pragma unroll 1
  while (at < end) {
    at += kFilters * sizeof(uint2);
#pragma unroll
    for (Index f = 0; f < kFilters; ++f) {
      const uint2 entry = next[f];
      next[f] = load_shared<uint2>(at + f * sizeof(uint2));
      add(f, entry);
    }
  }
}

template <class Config, class Reader>
__global__ void __launch_bounds__(kDirectThreads, 1)
    direct_kernel(const __grid_constant__ DirectArgs args, const __grid_constant__ typename Reader::Source source) {
  using Images = LaneImages<Config::kForm.images>;
  static_assert(!Config::kForm.half || (Config::kForm.images == 4 && !Config::kForm.equal));
  constexpr Index kNumberBytes = Config::kForm.pixel_bytes() / 32;
  const DirectShape& shape = args.shape;
  const DirectTiling& tiling = args.tiling;
  std::byte* const memory = aligned_to_pixel(dynamic_shared<std::byte>());
  const DirectPart part(args, Config::kForm.images);
  Reader reader(args, part, source, memory);
  const Index warp = threadIdx.x / 32;
  const Images images(threadIdx.x % 32);
  const Index stride = Config::kStride != 0 ? Config::kStride : shape.stride[1];

  typename Images::Piece sums[Config::kFilters][Config::kColumns][Images::kPieces] = {};
  reader.start(0);
  for (Index chunk = 0; chunk < tiling.chunks; ++chunk) {
    if (chunk + 1 < tiling.chunks) reader.start(chunk + 1);
    reader.wait(chunk);
    const std::uint32_t stage = shared_address(memory + chunk % 2 * args.stage_bytes);
    const auto entries = static_cast<std::uint32_t>(stage + tiling.tile_bytes());
    const std::uint32_t own =
        stage + (images.row * shape.stride[0] * tiling.columns_read * 32 + images.first) * kNumberBytes;
    const std::uint32_t column_step = stride * 32 * kNumberBytes;
    const auto add = [&](Index filter, const uint2& entry) {
      add_products<Config>(entry, own, column_step, images.other_piece * static_cast<int>(kNumberBytes), sums[filter]);
    };
    if constexpr (Config::kForm.half)
      each_filter_of_halves<Config>(entries, warp, own, column_step, sums);
    else if constexpr (Config::kForm.equal)
      all_filters_at_once<Config>(entries, warp, add);
    else
      each_filter_alone<Config>(entries, warp, add);
    __syncthreads();
  }

  const auto* filters = reinterpret_cast<const Index*>(args.weights + args.filters_at) +
                        (part.filters * kDirectWarps + warp) * Config::kFilters;
  const auto* bias = reinterpret_cast<const float*>(args.weights + args.bias_at);
  if (part.first[0] + images.row >= shape.out[0]) return;
  const auto for_each_sum = [&](const auto& work) {
#pragma unroll
    for (Index f = 0; f < Config::kFilters; ++f) {
      const Index filter = __ldg(filters + f);
      if (filter == kNoFilter) continue;
      const std::size_t place = (std::size_t{part.images} * shape.out_block + filter * shape.out_channel +
                                 (part.first[0] + images.row) * shape.out_row + part.first[1]) *
                                32;
#pragma unroll
      for (Index q = 0; q < Config::kColumns; ++q) {
        if (part.first[1] + q >= shape.out[1]) break;
#pragma unroll
        for (Index piece = 0; piece < Images::kPieces; ++piece)
          work(sums[f][q][piece], place + q * 32 + images.image(piece), filter);
      }
    }
  };
  for_each_sum([&](auto& sum, std::size_t at, Index filter) {
    change_each(sum, at, [b = __ldg(bias + filter)](float x, std::size_t) { return x + b; });
  });
  if constexpr (Config::kForm.has_functions())
    with_functions(args.functions, [&](const auto& function) {
      for_each_sum([&](auto& sum, std::size_t at, Index) { change_each(sum, at, function); });
    });
  for_each_sum([&](const auto& sum, std::size_t at, Index) { write_images<Config::kForm.half>(args.y, at, sum); });
}

}  // namespace spdnn::cuda
