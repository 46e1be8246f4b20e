#pragma once

// The kernel that reads each tap of a convolution from device memory: a warp for each output, a word for each lane.

#include <algorithm>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

/// Words that are one image's number each.
struct Floats {
  using Word = float;
  static __device__ Word of(float number) { return number; }
  static __device__ Word fma(Word a, Word b, Word c) { return fmaf(a, b, c); }
  static __device__ Word result(Word sum, Word bias, const Functions& functions, std::size_t place) {
    return apply(functions, sum + bias, place);
  }
};

/// `Words`: Floats, or likewise.
template <class Words>
__global__ void __launch_bounds__(256)
    taps_kernel(const __grid_constant__ DirectShape shape, const Index* begins, const Tap* taps, const float* bias,
                const typename Words::Word* x, const __grid_constant__ Functions functions, typename Words::Word* y) {
  const Index lane = threadIdx.x % 32;
  const std::size_t plane = std::size_t{shape.out[0]} * shape.out[1];
  const std::size_t count = shape.blocks * shape.filters * plane;
  const std::size_t warps = std::size_t{gridDim.x} * (blockDim.x / 32);
  for (std::size_t i = std::size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32; i < count; i += warps) {
    const auto filter = static_cast<Index>(i / plane % shape.filters);
    const auto pixel = static_cast<Index>(i % plane);
    const auto row = static_cast<int>(pixel / shape.out[1] * shape.stride[0]);
    const auto column = static_cast<int>(pixel % shape.out[1] * shape.stride[1]);
    const typename Words::Word* from = x + i / plane / shape.filters * shape.in_block * 32 + lane;
    typename Words::Word sum = Words::of(0);
    for (Index t = begins[filter]; t < begins[filter + 1]; ++t) {
      const Tap tap = taps[t];
      const auto at_row = static_cast<Index>(row + tap.row);  // beyond H where it is negative
      const auto at_column = static_cast<Index>(column + tap.column);
      if (at_row >= shape.in[0] || at_column >= shape.in[1]) continue;
      sum = Words::fma(Words::of(tap.weight),
                       from[(tap.channel * shape.in_channel + at_row * shape.in_row + at_column) * 32], sum);
    }
    const std::size_t place = i * 32 + lane;
    y[place] = Words::result(sum, Words::of(bias[filter]), functions, place);
  }
}

template <class Words>
void launch_taps_kernel(const DirectShape& shape, const Index* begins, const Tap* taps, const float* bias,
                        const typename Words::Word* x, const Functions& functions, typename Words::Word* y,
                        cudaStream_t stream) {
  const std::size_t count = std::size_t{shape.blocks} * shape.filters * shape.out[0] * shape.out[1];
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(count / 8 + 1, 1U << 16U));
  taps_kernel<Words><<<blocks, 256, 0, stream>>>(shape, begins, taps, bias, x, functions, y);
  check_launch();
}

}  // namespace spdnn::cuda
