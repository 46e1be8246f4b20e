#pragma once

#include "engines/cpu/depthwise/tiling.hpp"
#include "program/epilogue.hpp"

namespace spdnn::depthwise {

/// The weights of a convolution for a Tiling: all taps of each filter, zeros included.
struct Filters {
  const float* weights;
  const float* bias;  ///< null if there is none
};

/// Numbers of working memory, for that many threads.
std::size_t scratch_size(const Tiling& tiling, int threads);

/// The convolution of row-major images on that many threads of OpenMP.
void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const program::Ending& ending);

}  // namespace spdnn::depthwise
