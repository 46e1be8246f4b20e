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

inline constexpr Index kSquare = 4;  ///< rows and columns of a product that a thread computes

/// Squares that cover a number of rows or columns.
__host__ __device__ constexpr Index squares_of(Index count) { return (count + kSquare - 1) / kSquare; }

/// An image's numbers of an operand, or a constant's.
struct Factor {
  const float* first;
  std::size_t step;

  __device__ Factor(const float* from, const Broadcast& of, Index k, std::size_t block, Index together, Index lane)
      : first(of.has_images[k] ? from + block * of.elements[k] * together + lane : from),
        step(of.has_images[k] ? together : 1) {}
  __device__ float operator[](std::size_t i) const { return first[i * step]; }
};

/// A thread computes a square of an image's results, so that a number is read for four products. Results beyond the
/// last row or column are computed of that one, and not written.
__global__ void __launch_bounds__(kElementThreads)
    product_kernel(const float* a, const float* b, std::size_t squares, Index together,
                   const __grid_constant__ MatrixProduct of, float* y) {
  const Index down = squares_of(of.rows);
  const Index across = squares_of(of.columns);
  for_each_element(squares, together, [&](std::size_t i, Index lane) {
    const auto column = static_cast<Index>(i % across * kSquare);
    const auto row = static_cast<Index>(i / across % down * kSquare);
    const std::size_t matrix = i / across / down;
    std::size_t block = matrix;
    std::size_t places[2] = {0, 0};
    for (Index axis = of.matrices.axes; axis-- > 0; block /= of.matrices.extents[axis])
      for (Index k = 0; k < 2; ++k) places[k] += block % of.matrices.extents[axis] * of.matrices.steps[k][axis];
    const Factor left(a, of.matrices, 0, block, together, lane);
    const Factor right(b, of.matrices, 1, block, together, lane);
    float sums[kSquare][kSquare] = {};
    for (Index t = 0; t < of.terms; ++t) {
      float of_rows[kSquare];
      float of_columns[kSquare];
#pragma unroll
      for (Index s = 0; s < kSquare; ++s) {
        const std::size_t own_row = min(row + s, of.rows - 1);
        const std::size_t own_column = min(column + s, of.columns - 1);
        of_rows[s] = left[places[0] + own_row * of.terms + t];
        of_columns[s] =
            right[places[1] + (of.transposed ? own_column * of.terms + t : std::size_t{t} * of.columns + own_column)];
      }
#pragma unroll
      for (Index r = 0; r < kSquare; ++r)
#pragma unroll
        for (Index c = 0; c < kSquare; ++c) sums[r][c] = fmaf(of_rows[r], of_columns[c], sums[r][c]);
    }
#pragma unroll
    for (Index r = 0; r < kSquare; ++r)
#pragma unroll
      for (Index c = 0; c < kSquare; ++c)
        if (row + r < of.rows && column + c < of.columns)
          y[((matrix * of.rows + row + r) * of.columns + column + c) * together + lane] = sums[r][c];
  });
}

}  // namespace spdnn::cuda
