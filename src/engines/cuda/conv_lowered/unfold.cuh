#pragma once

// Unfolding the input of a convolution.
//
// Mapping. A warp writes one row's elements for 8 columns of pixels in a row of the output, 4 pixels at a time: 8 lanes
// have a pixel's 32 images, 16 bytes each.
//
// Bound. Device memory: the input is read from L2 but for its first tap, the matrix is written once.

#include <cuda_runtime_api.h>

#include "engines/cuda/conv_lowered/unfold.hpp"

namespace spdnn::cuda {

inline constexpr Index kUnfoldThreads = 256;
inline constexpr Index kUnfoldColumns = 8;

/// Pieces of work, each of a warp.
inline Index unfold_pieces(const Unfolding& unfolding) {
  const Index across = (unfolding.out[1] + kUnfoldColumns - 1) / kUnfoldColumns;
  return narrow<Index>(unfolding.rows() * unfolding.out[0] * across);
}

__global__ void __launch_bounds__(kUnfoldThreads)
    unfold_kernel(const float* x, const __grid_constant__ Unfolding of, Index pieces, float* matrix) {
  const Index lane = threadIdx.x % 32;
  const Index across = (of.out[1] + kUnfoldColumns - 1) / kUnfoldColumns;
  const Index warps = gridDim.x * (kUnfoldThreads / 32);
  for (Index piece = blockIdx.x * (kUnfoldThreads / 32) + threadIdx.x / 32; piece < pieces; piece += warps) {
    const Index first = piece % across * kUnfoldColumns;
    const Index out_row = piece / across % of.out[0];
    const Index row = piece / across / of.out[0];
    const Index s = row % of.kernel[1];
    const Index r = row / of.kernel[1] % of.kernel[0];
    const Index channel = row / of.kernel[1] / of.kernel[0];
    const Index at_row = out_row * of.stride[0] + r * of.dilation[0] - of.pad[0];  // beyond H where it is negative
    const std::size_t from = (std::size_t{channel} * of.in[0] + at_row) * of.in[1];
    const std::size_t to = (std::size_t{row} * of.out[0] + out_row) * of.out[1];
    for (Index column = first + lane / 8; column < first + kUnfoldColumns && column < of.out[1]; column += 4) {
      const Index at_column = column * of.stride[1] + s * of.dilation[1] - of.pad[1];  // likewise of W
      float4 value = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (at_row < of.in[0] && at_column < of.in[1])
        value = *reinterpret_cast<const float4*>(x + (from + at_column) * 32 + lane % 8 * 4);
      *reinterpret_cast<float4*>(matrix + (to + column) * 32 + lane % 8 * 4) = value;
    }
  }
}

}  // namespace spdnn::cuda
