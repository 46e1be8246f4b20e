#pragma once

#include <functional>

#include "engines/cpu/sparse_conv/filters.hpp"

namespace spdnn::sparse_conv {

/// What is done with sums before they are stored: min(high, max(low, sum)), and then `finish`, which may be empty, with
/// some adjacent results.
struct Ending {
  float low;
  float high;
  std::function<void(float* results, std::size_t count)> finish;
};

/// Numbers of working memory, for that many threads.
std::size_t scratch_size(const Tiling& tiling, int threads);

/// The convolution of row-major images on that many threads of OpenMP. `scratch` begins on a bound of 64 bytes.
void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const Ending& ending);

}  // namespace spdnn::sparse_conv
