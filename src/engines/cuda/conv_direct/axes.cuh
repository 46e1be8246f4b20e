#pragma once

#include "engines/cuda/conv_direct/axes.hpp"
#include "engines/cuda/conv_direct/elements.cuh"

namespace spdnn::cuda {

__global__ void __launch_bounds__(kElementThreads)
    normalize_kernel(const float* x, std::size_t elements, std::size_t channels, std::size_t plane,
                     const Normalization* by_channel, float* y) {
  for_each_element(elements, [&](std::size_t i) {
    const Normalization norm = by_channel[i / plane % channels];
    const std::size_t place = i * kLanes + threadIdx.x % kLanes;
    y[place] = (x[place] - norm.mean) * norm.factor + norm.shift;
  });
}

/// A lane follows its image along a line: the maximum, the sum of the exponentials, the quotients.
__global__ void __launch_bounds__(kElementThreads)
    softmax_kernel(const float* x, std::size_t lines, std::size_t length, std::size_t inner, float* y) {
  for_each_element(lines, [&](std::size_t line) {
    const std::size_t first = (line / inner * length * inner + line % inner) * kLanes + threadIdx.x % kLanes;
    const std::size_t step = inner * kLanes;
    float most = -INFINITY;
    for (std::size_t k = 0; k < length; ++k) most = fmaxf(most, x[first + k * step]);
    float sum = 0;
    for (std::size_t k = 0; k < length; ++k) sum += expf(x[first + k * step] - most);
    for (std::size_t k = 0; k < length; ++k) y[first + k * step] = expf(x[first + k * step] - most) / sum;
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
  const Index lane = threadIdx.x % kLanes;
  const Index* const terms = places + of.results;
  for_each_element(of.blocks * of.results, [&](std::size_t i) {
    const float* const from = x + (i / of.results * of.elements + places[i % of.results]) * kLanes + lane;
    float value = from[std::size_t{terms[0]} * kLanes];
    for (std::size_t k = 1; k < of.terms; ++k) value = reduced(of.kind, value, from[std::size_t{terms[k]} * kLanes]);
    y[i * kLanes + lane] = value;
  });
}

}  // namespace spdnn::cuda
