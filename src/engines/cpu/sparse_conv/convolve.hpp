#pragma once

#include "engines/cpu/sparse_conv/filters.hpp"
#include "program/epilogue.hpp"

namespace spdnn::sparse_conv {

/// Whether so few weights are not zero that leaving the others out may be faster.
bool is_sparse(const CsrMatrix& weights);

double predicted_seconds(const Tiling& tiling);

/// Numbers of working memory, for that many threads.
std::size_t scratch_size(const Tiling& tiling, int threads);

/// The convolution of row-major images on that many threads of OpenMP. `scratch` begins on a bound of 64 bytes.
void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const program::Ending& ending);

}  // namespace spdnn::sparse_conv
