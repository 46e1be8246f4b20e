#pragma once

// The kernel of convolutions that skip the zeros of their input; ecr.hpp describes its data.
//
// Mapping. A lane has some filters, whose sums for a tile of output pixels are in registers. A warp copies the tile's
// input, 32 channels at a time, to shared memory, where each lane makes the bitmap of a channel: which of its pixels
// are not zero. Then for each channel and tap all lanes read their weights, and for each pixel of the tile one number
// of the input, unless its bit is 0: a zero costs the test of a bit instead of a multiply-add per filter. Where all of
// a tap's bits are 0 its weights are not read either. The products of a result are added in the order of its weights,
// as by conv_direct.
//
// Bound. Issue of instructions where the input has few zeros; where it has many, L1, of which a lane reads its weights
// for one tile.

#include <algorithm>
#include <type_traits>

#include "engines/cuda/conv_ecr/ecr.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda {

struct EcrArgs {
  DirectShape shape;
  Index images;
  Index warps;
  Index down, across;  ///< tiles of an image
  Index rows_read;     ///< of a tile's input
  Index columns_read;
  std::size_t filters;  ///< in memory
  const float* weights;
  const float* bias;
  const float* x;
  float* y;
};

inline EcrArgs ecr_args(const DirectShape& shape, const EcrTiling& tiling, Index images, const std::byte* weights,
                        const float* x, float* y) {
  const auto read = [&](Index pixels, std::size_t axis) {
    return (pixels - 1) * shape.stride[axis] + (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
  };
  return {.shape = shape,
          .images = images,
          .warps = static_cast<Index>(ecr_warps(shape, tiling, images)),
          .down = (shape.out[0] + tiling.rows - 1) / tiling.rows,
          .across = (shape.out[1] + tiling.columns - 1) / tiling.columns,
          .rows_read = read(tiling.rows, 0),
          .columns_read = read(tiling.columns, 1),
          .filters = tiling.filters_of(shape.filters),
          .weights = reinterpret_cast<const float*>(weights),
          .bias = reinterpret_cast<const float*>(weights + EcrWeights::bias_at(shape, tiling)),
          .x = x,
          .y = y};
}

/// What the kernel knows of its tiling when it is compiled.
template <Index kRowsOfTile, Index kColumnsOfTile, Index kFiltersOfLane, bool kIsPooled>
struct EcrConfig {
  static constexpr Index kRows = kRowsOfTile;
  static constexpr Index kColumns = kColumnsOfTile;
  static constexpr Index kPixels = kRows * kColumns;
  static constexpr Index kFilters = kFiltersOfLane;
  static constexpr bool kPooled = kIsPooled;
  static constexpr bool kStrideIsOne = kColumns == 4;
  static constexpr Index kVector = kFilters < 4 ? kFilters : 4;  ///< neighbouring filters of a lane
  using Vector = std::conditional_t<kVector == 2, float2, float4>;

  __device__ static Index filter(Index lane, Index f) {
    return f / kVector * 32 * kVector + lane * kVector + f % kVector;
  }
  /// The bit of an output pixel's first tap.
  __device__ static Index bit(const DirectShape& shape, Index pixel) {
    return pixel / kColumns * (kStrideIsOne ? 1 : shape.stride[0]) * kBitmapSide +
           pixel % kColumns * (kStrideIsOne ? 1 : shape.stride[1]);
  }
};

/// Calls launch.operator()<Config>() with the tiling's.
template <class Launch>
void with_ecr_config(const EcrTiling& tiling, const Launch& launch) {
  const auto of_pooled = [&]<bool kPooled> {
    if (tiling.columns == 2) return launch.template operator()<EcrConfig<2, 2, 8, kPooled>>();
    if (tiling.filters == 2) return launch.template operator()<EcrConfig<2, 4, 2, kPooled>>();
    if (tiling.filters == 4) return launch.template operator()<EcrConfig<2, 4, 4, kPooled>>();
    return launch.template operator()<EcrConfig<2, 4, 8, kPooled>>();
  };
  if (tiling.columns == 1) return launch.template operator()<EcrConfig<1, 1, 8, false>>();
  tiling.pooled ? of_pooled.template operator()<true>() : of_pooled.template operator()<false>();
}

/// What a warp computes.
struct EcrPart {
  Index filters;  ///< the first
  Index image;
  Index first[2];  ///< pixel

  template <class Config>
  __device__ static EcrPart of(const EcrArgs& args, Index warp) {
    const Index tile = warp % (args.down * args.across);
    const Index others = warp / (args.down * args.across);
    return {others / args.images * 32 * Config::kFilters,
            others % args.images,
            {tile / args.across * Config::kRows, tile % args.across * Config::kColumns}};
  }
};

/// Copies a lane's channel of the tile's input; places outside the image become 0. Returns its bitmap.
__device__ inline std::uint64_t read_channel(const EcrArgs& args, const EcrPart& part, Index channel, float* to) {
  const DirectShape& shape = args.shape;
  std::uint64_t bitmap = 0;
  for (Index i = 0; i < args.rows_read; ++i) {
    const Index row = part.first[0] * shape.stride[0] + i - shape.pad[0];  // beyond H where it is negative
    for (Index j = 0; j < args.columns_read; ++j) {
      const Index column = part.first[1] * shape.stride[1] + j - shape.pad[1];
      float number = 0;
      if (row < shape.in[0] && column < shape.in[1] && channel < shape.channels)
        number = __ldg(
            args.x + ((std::size_t{part.image} * shape.in[0] + row) * shape.in[1] + column) * shape.channels + channel);
      const Index bit = i * kBitmapSide + j;
      to[bit * kEcrChannels] = number;
      bitmap |= std::uint64_t{number != 0} << bit;
    }
  }
  return bitmap;
}

/// Adds a channel's products. `x`: its number at bit 0 of its bitmap.
template <class Config>
__device__ void add_channel(const EcrArgs& args, std::uint64_t bitmap, const float* x, const float* weights,
                            float (&sums)[Config::kPixels][Config::kFilters]) {
  const DirectShape& shape = args.shape;
  std::uint64_t of_tile = 0;
#pragma unroll
  for (Index p = 0; p < Config::kPixels; ++p) of_tile |= std::uint64_t{1} << Config::bit(shape, p);
  for (Index r = 0; r < shape.kernel[0]; ++r)
    for (Index s = 0; s < shape.kernel[1]; ++s, weights += args.filters) {
      const Index tap = r * shape.dilation[0] * kBitmapSide + s * shape.dilation[1];
      const std::uint64_t bits = bitmap >> tap & of_tile;
      if (bits == 0) continue;
      alignas(16) float w[Config::kFilters];
#pragma unroll
      for (Index f = 0; f < Config::kFilters; f += Config::kVector)
        *reinterpret_cast<typename Config::Vector*>(w + f) =
            __ldg(reinterpret_cast<const typename Config::Vector*>(weights + f * 32));
#pragma unroll
      for (Index p = 0; p < Config::kPixels; ++p) {
        const Index bit = Config::bit(shape, p);
        if ((bits >> bit & 1U) == 0) continue;
        const float number = x[(tap + bit) * kEcrChannels];
#pragma unroll
        for (Index f = 0; f < Config::kFilters; ++f) sums[p][f] = fmaf(w[f], number, sums[p][f]);
      }
    }
}

/// Writes a filter's sums of a tile, or the maxima of 2 x 2 of them.
template <class Config>
__device__ void write_results(const EcrArgs& args, const EcrPart& part, Index filter, Index f,
                              const float (&sums)[Config::kPixels][Config::kFilters]) {
  constexpr Index kSide = Config::kPooled ? 2 : 1;  // of a window
  const DirectShape& shape = args.shape;
  const float bias = __ldg(args.bias + filter);
  const Index height = shape.out[0] / kSide;
  const Index width = shape.out[1] / kSide;
#pragma unroll
  for (Index i = 0; i < Config::kRows; i += kSide)
#pragma unroll
    for (Index j = 0; j < Config::kColumns; j += kSide) {
      const Index row = (part.first[0] + i) / kSide;
      const Index column = (part.first[1] + j) / kSide;
      if (row >= height || column >= width) continue;
      float result = sums[i * Config::kColumns + j][f] + bias;
      if constexpr (Config::kPooled) {
        const float right = sums[i * Config::kColumns + j + 1][f] + bias;
        const float below = sums[(i + 1) * Config::kColumns + j][f] + bias;
        const float beside = sums[(i + 1) * Config::kColumns + j + 1][f] + bias;
        result = fmaxf(fmaxf(fmaxf(result, right), fmaxf(below, beside)), 0.0F);
      }
      args.y[((std::size_t{part.image} * height + row) * width + column) * shape.filters + filter] = result;
    }
}

template <class Config>
__global__ void __launch_bounds__(kEcrWarps * 32, 4) ecr_kernel(const __grid_constant__ EcrArgs args) {
  const Index lane = threadIdx.x % 32;
  const Index own = threadIdx.x / 32;
  const Index warp = blockIdx.x * kEcrWarps + own;
  if (warp >= args.warps) return;
  const DirectShape& shape = args.shape;
  const EcrPart part = EcrPart::of<Config>(args, warp);
  auto* const bitmaps = dynamic_shared<std::uint64_t>() + own * kEcrChannels;
  float* const x = reinterpret_cast<float*>(dynamic_shared<std::uint64_t>() + kEcrWarps * kEcrChannels) +
                   own * args.rows_read * kBitmapSide * kEcrChannels;
  const Index taps = shape.kernel[0] * shape.kernel[1];
  const float* weights = args.weights + part.filters + lane * Config::kVector;

  float sums[Config::kPixels][Config::kFilters] = {};
  for (Index first = 0; first < shape.channels; first += kEcrChannels) {
    bitmaps[lane] = read_channel(args, part, first + lane, x + lane);
    __syncwarp();
    const Index channels = min(kEcrChannels, shape.channels - first);
    for (Index c = 0; c < channels; ++c, weights += taps * args.filters)
      if (bitmaps[c] != 0) add_channel<Config>(args, bitmaps[c], x + c, weights, sums);
    __syncwarp();
  }
#pragma unroll
  for (Index f = 0; f < Config::kFilters; ++f) {
    const Index filter = part.filters + Config::filter(lane, f);
    if (filter < shape.filters) write_results<Config>(args, part, filter, f, sums);
  }
}

}  // namespace spdnn::cuda
