#pragma once

#include "engines/cuda/conv_direct/axes.hpp"
#include "engines/cuda/conv_direct/elements.cuh"

namespace spdnn::cuda {

__global__ void __launch_bounds__(kElementThreads)
    normalize_kernel(const float* x, std::size_t elements, Index together, std::size_t channels, std::size_t plane,
                     const Normalization* by_channel, float* y) {
  for_each_element(elements, together, [&](std::size_t i, Index lane) {
    const Normalization norm = by_channel[i / plane % channels];
    const std::size_t place = i * together + lane;
    y[place] = (x[place] - norm.mean) * norm.factor + norm.shift;
  });
}

/// A thread follows an image along a line: the maximum, the sum of the exponentials, the quotients.
__global__ void __launch_bounds__(kElementThreads)
    softmax_kernel(const float* x, std::size_t lines, Index together, std::size_t length, std::size_t inner, float* y) {
  for_each_element(lines, together, [&](std::size_t line, Index lane) {
    const std::size_t first = (line / inner * length * inner + line % inner) * together + lane;
    const std::size_t step = inner * together;
    float most = -INFINITY;
    for (std::size_t k = 0; k < length; ++k) most = fmaxf(most, x[first + k * step]);
    float sum = 0;
    for (std::size_t k = 0; k < length; ++k) sum += expf(x[first + k * step] - most);
    for (std::size_t k = 0; k < length; ++k) y[first + k * step] = expf(x[first + k * step] - most) / sum;
  });
}

/// The same of rows, whose lines are as few as their images: a warp for each.
__global__ void __launch_bounds__(kElementThreads)
    softmax_rows_kernel(const float* x, std::size_t lines, std::size_t length, std::size_t inner, float* y) {
  for_each_element(lines, kLanes, [&](std::size_t line, Index lane) {
    const std::size_t first = line / inner * length * inner + line % inner;
    const auto of_warp = [](float value, auto combined) {
      for (Index step = kLanes / 2; step > 0; step /= 2)
        value = combined(value, __shfl_xor_sync(0xffffffffU, value, step));
      return value;
    };
    float most = -INFINITY;
    for (std::size_t k = lane; k < length; k += kLanes) most = fmaxf(most, x[first + k * inner]);
    most = of_warp(most, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (std::size_t k = lane; k < length; k += kLanes) sum += expf(x[first + k * inner] - most);
    sum = of_warp(sum, [](float a, float b) { return a + b; });
    for (std::size_t k = lane; k < length; k += kLanes) y[first + k * inner] = expf(x[first + k * inner] - most) / sum;
  });
}

__device__ inline float reduced(Reduction::Kind kind, float value, float term) {
  switch (kind) {
    case Reduction::Kind::sum:
      return value + term;
    case Reduction::Kind::product:
      return value * term;
    case Reduction::Kind::maximum:
      return term > value || isnan(term) ? term : value;
    default:
      return term < value || isnan(term) ? term : value;
  }
}

__global__ void __launch_bounds__(kElementThreads)
    reduce_kernel(const float* x, const __grid_constant__ Reduction of, const Index* places, float* y) {
  const Index* const terms = places + of.results;
  for_each_element(of.blocks * of.results, of.together, [&](std::size_t i, Index lane) {
    const float* const from = x + (i / of.results * of.elements + places[i % of.results]) * of.together + lane;
    float value = from[std::size_t{terms[0]} * of.together];
    for (std::size_t k = 1; k < of.terms; ++k)
      value = reduced(of.kind, value, from[std::size_t{terms[k]} * of.together]);
    y[i * of.together + lane] = value;
  });
}

}  // namespace spdnn::cuda
