#pragma once

// Kernels of pools.

#include "engines/cuda/conv_direct/elements.cuh"
#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

/// A window's value with one more place; a maximum with NaN is NaN.
__device__ inline float pooled(bool maximum, float value, float one) {
  return !maximum ? value + one : one > value || isnan(one) ? one : value;
}

/// Windows' places are read several at a time, as each read takes long.
__global__ void __launch_bounds__(kElementThreads)
    pool_kernel(const float* x, std::size_t planes, Index together, const __grid_constant__ Pooling pooling, float* y) {
  constexpr Index kAhead = 9;
  const Index out_plane = pooling.out[0] * pooling.out[1];
  const float nothing = pooling.maximum ? -INFINITY : 0.0F;
  for_each_element(planes * out_plane, together, [&](std::size_t i, Index lane) {
    const std::size_t plane = i >> 32U == 0 ? static_cast<Index>(i) / out_plane : i / out_plane;  // short division
    const float* from = x + plane * pooling.in[0] * pooling.in[1] * together + lane;
    const auto pixel = static_cast<Index>(i - plane * out_plane);
    const Index at[2] = {pixel / pooling.out[1], pixel % pooling.out[1]};
    float value = nothing;
    Index places = 0;
    for (Index r = 0, s = 0; r < pooling.kernel[0];) {
      float read[kAhead];
#pragma unroll
      for (float& one : read) {
        const Index row = at[0] * pooling.stride[0] + r * pooling.dilation[0];     // in the padded image
        const Index column = at[1] * pooling.stride[1] + s * pooling.dilation[1];  // likewise
        const bool padded = r < pooling.kernel[0] && row < pooling.pad[0] + pooling.in[0] + pooling.pad_end[0] &&
                            column < pooling.pad[1] + pooling.in[1] + pooling.pad_end[1];
        const Index in_row = row - pooling.pad[0];
        const Index in_column = column - pooling.pad[1];
        const bool exists = r < pooling.kernel[0] && in_row < pooling.in[0] && in_column < pooling.in[1];
        places += exists || (pooling.count_padding && padded) ? 1 : 0;
        one = exists ? from[(in_row * std::size_t{pooling.in[1]} + in_column) * together] : nothing;
        if (++s == pooling.kernel[1]) {
          s = 0;
          ++r;
        }
      }
#pragma unroll
      for (const float one : read) value = pooled(pooling.maximum, value, one);
    }
    y[i * together + lane] = pooling.maximum ? value : value / static_cast<float>(places);
  });
}

/// The maximum or the mean of each plane of `size` numbers that follow one another: a warp for each.
__global__ void __launch_bounds__(kElementThreads)
    pool_planes_kernel(const float* x, std::size_t planes, Index size, bool maximum, float* y) {
  for_each_element(planes, kLanes, [&](std::size_t plane, Index lane) {
    const float* const from = x + plane * size;
    float value = maximum ? -INFINITY : 0.0F;
    for (Index i = lane; i < size; i += kLanes) value = pooled(maximum, value, from[i]);
    for (Index step = kLanes / 2; step > 0; step /= 2)
      value = pooled(maximum, value, __shfl_xor_sync(0xffffffffU, value, step));
    if (lane == 0) y[plane] = maximum ? value : value / static_cast<float>(size);
  });
}

}  // namespace spdnn::cuda
