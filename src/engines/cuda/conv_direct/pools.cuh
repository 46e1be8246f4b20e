#pragma once

// Kernels of pools.

#include <cuda_fp16.h>

#include "engines/cuda/conv_direct/elements.cuh"
#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

/// A window's value with one more place; a maximum with NaN is NaN.
__device__ inline float pooled(bool maximum, float value, float one) {
  return !maximum ? value + one : one > value || isnan(one) ? one : value;
}

/// Numbers of a place, of as many images, that a thread pools together; kAhead places are read at a time, as each read
/// takes long.
struct FloatOfPlace {
  static constexpr Index kNumbers = 1;
  static constexpr Index kAhead = 9;
  float all;
  __device__ float number(Index) const { return all; }
  __device__ void set(Index, float number) { all = number; }
};
struct alignas(16) FloatsOfPlace {
  static constexpr Index kNumbers = 4;
  static constexpr Index kAhead = 4;
  float all[kNumbers];
  __device__ float number(Index i) const { return all[i]; }
  __device__ void set(Index i, float number) { all[i] = number; }
};
struct alignas(16) HalvesOfPlace {
  static constexpr Index kNumbers = 8;
  static constexpr Index kAhead = 4;
  __half all[kNumbers];
  __device__ float number(Index i) const { return __half2float(all[i]); }
  __device__ void set(Index i, float number) { all[i] = __float2half_rn(number); }
};

/// `Numbers`: of those above; a block has `together` of them for each place.
template <class Numbers>
__global__ void __launch_bounds__(kElementThreads) pool_kernel(const Numbers* x, std::size_t planes, Index together,
                                                               const __grid_constant__ Pooling pooling, Numbers* y) {
  const Index out_plane = pooling.out[0] * pooling.out[1];
  const float nothing = pooling.maximum ? -INFINITY : 0.0F;
  for_each_element(planes * out_plane, together, [&](std::size_t i, Index lane) {
    const std::size_t plane = i >> 32U == 0 ? static_cast<Index>(i) / out_plane : i / out_plane;  // short division
    const Numbers* from = x + plane * pooling.in[0] * pooling.in[1] * together + lane;
    const auto pixel = static_cast<Index>(i - plane * out_plane);
    const Index at[2] = {pixel / pooling.out[1], pixel % pooling.out[1]};
    float values[Numbers::kNumbers];
    for (float& value : values) value = nothing;
    Index places = 0;
    for (Index r = 0, s = 0; r < pooling.kernel[0];) {
      Numbers read[Numbers::kAhead];
#pragma unroll
      for (Numbers& one : read) {
        const Index row = at[0] * pooling.stride[0] + r * pooling.dilation[0];     // in the padded image
        const Index column = at[1] * pooling.stride[1] + s * pooling.dilation[1];  // likewise
        const bool padded = r < pooling.kernel[0] && row < pooling.pad[0] + pooling.in[0] + pooling.pad_end[0] &&
                            column < pooling.pad[1] + pooling.in[1] + pooling.pad_end[1];
        const Index in_row = row - pooling.pad[0];
        const Index in_column = column - pooling.pad[1];
        const bool exists = r < pooling.kernel[0] && in_row < pooling.in[0] && in_column < pooling.in[1];
        places += exists || (pooling.count_padding && padded) ? 1 : 0;
        for (Index k = 0; k < Numbers::kNumbers; ++k) one.set(k, nothing);
        if (exists) one = from[(in_row * std::size_t{pooling.in[1]} + in_column) * together];
        if (++s == pooling.kernel[1]) {
          s = 0;
          ++r;
        }
      }
#pragma unroll
      for (const Numbers& one : read)
        for (Index k = 0; k < Numbers::kNumbers; ++k) values[k] = pooled(pooling.maximum, values[k], one.number(k));
    }
    Numbers result;
    for (Index k = 0; k < Numbers::kNumbers; ++k)
      result.set(k, pooling.maximum ? values[k] : values[k] / static_cast<float>(places));
    y[i * together + lane] = result;
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
