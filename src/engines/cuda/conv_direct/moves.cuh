#pragma once

#include "engines/cuda/conv_direct/elements.cuh"
#include "engines/cuda/conv_direct/moves.hpp"

namespace spdnn::cuda {

__global__ void __launch_bounds__(kElementThreads)
    gather_kernel(const float* x, const __grid_constant__ Gathering of, const Index* table, float* y) {
  for_each_element(of.blocks * of.results, of.together, [&](std::size_t i, Index lane) {
    const Index from = table[i % of.results];
    y[i * of.together + lane] =
        from == kNowhere ? of.fill : x[(i / of.results * of.elements + from) * of.together + lane];
  });
}

__global__ void __launch_bounds__(kElementThreads)
    resize_kernel(const float* x, const __grid_constant__ Resizing of, const Interpolation* taps, float* y) {
  const std::size_t plane = std::size_t{of.out[0]} * of.out[1];
  for_each_element(of.planes * plane, of.together, [&](std::size_t i, Index lane) {
    const auto pixel = static_cast<Index>(i % plane);
    const Interpolation row = taps[pixel / of.out[1]];
    const Interpolation column = taps[of.out[0] + pixel % of.out[1]];
    const float* const from = x + i / plane * of.in[0] * of.in[1] * of.together + lane;
    const auto at = [&](Index r, Index s) { return from[(std::size_t{r} * of.in[1] + s) * of.together]; };
    const auto across = [&](Index r) {
      return (1 - column.weight) * at(r, column.first) + column.weight * at(r, column.second);
    };
    y[i * of.together + lane] = of.linear ? (1 - row.weight) * across(row.first) + row.weight * across(row.second)
                                          : at(row.first, column.first);
  });
}

}  // namespace spdnn::cuda
