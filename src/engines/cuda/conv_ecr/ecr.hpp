#pragma once

// Convolutions that skip the zeros of their input. Method: Xu et al., Accelerating Convolutional Neural Network by
// Exploiting Sparsity on GPUs (ACM TACO, 2023), which drops the zeros of each window; here a bitmap says where they
// are. Compiled without CUDA, except for the launch.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engines/cuda/conv_direct/direct.hpp"

namespace spdnn::cuda {

inline constexpr Index kEcrWarps = 4;      ///< of a block
inline constexpr Index kEcrChannels = 32;  ///< whose bitmaps a warp makes at a time
/// Rows and columns of the input that a bitmap covers; row r, column c is bit 8 r + c.
inline constexpr Index kBitmapSide = 8;

/// How the work is divided: a warp computes rows x columns output pixels of an image, of 32 x filters outputs.
struct EcrTiling {
  Index rows = 0;  ///< of a tile: 2 x 4, 2 x 2 or 1 x 1 pixels
  Index columns = 0;
  Index filters = 0;    ///< of a lane: 2, 4 or 8
  bool pooled = false;  ///< the results are the maxima of 2 x 2 outputs, or 0 if that is more

  /// Filters in memory: the groups of 32 x filters are full.
  SPDNN_HOST_DEVICE std::size_t filters_of(Index filters_of_layer) const {
    const Index of_warp = 32 * filters;
    return std::size_t{(filters_of_layer + of_warp - 1) / of_warp} * of_warp;
  }
};

/// The largest tile whose input a bitmap covers; empty if none is.
std::optional<EcrTiling> ecr_tiling(const DirectShape& shape, bool pooled);
/// Warps that have work: tiles of all images, for each group of filters.
std::size_t ecr_warps(const DirectShape& shape, const EcrTiling& tiling, Index images);
/// Shared memory of a block.
std::size_t ecr_shared_bytes(const DirectShape& shape, const EcrTiling& tiling);

/// The weights as the kernel reads them, zeros included: channel, tap, filter; then the bias of each filter.
struct EcrWeights {
  static std::size_t bias_at(const DirectShape& shape, const EcrTiling& tiling);
  static std::size_t bytes(const DirectShape& shape, const EcrTiling& tiling);
  /// `bias`: null, or one for each filter.
  static void pack(const DirectShape& shape, const EcrTiling& tiling, const CsrMatrix& weights, const float* bias,
                   std::byte* to);
};

/// y = the convolution of x, or its pooled results. Both are in the order N, H, W, C.
void convolve_nonzeros(const DirectShape& shape, const EcrTiling& tiling, Index images, const std::byte* weights,
                       const float* x, float* y, CUstream_st* stream);

}  // namespace spdnn::cuda
