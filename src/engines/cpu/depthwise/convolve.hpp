#pragma once

#include <cstddef>
#include <vector>

#include "engines/cpu/depthwise/tiling.hpp"
#include "program/epilogue.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::depthwise {

/// The taps and biases of a convolution as a Tiling reads them: zeros included, a register of channels for each.
class Filters {
 public:
  Filters(const Tiling& tiling, const std::byte* data);

  static std::size_t bytes(const Tiling& tiling);
  /// `bias` may be empty.
  static void pack(const Tiling& tiling, const CsrMatrix& weights, const std::vector<float>& bias, std::byte* to);

  const float* bias(Extent block, Extent filter) const { return data_ + (block * filters_ + filter) * size_; }
  /// Of one filter of each channel of a block.
  const float* weights(Extent block, Extent filter) const { return bias(block, filter) + lanes_; }

 private:
  const float* data_;
  Extent filters_;  ///< of a channel
  Extent lanes_;
  Extent size_;  ///< numbers of a bias and its taps
};

/// Numbers of working memory, for that many threads.
std::size_t scratch_size(const Tiling& tiling, int threads);

/// The convolution of row-major images on that many threads of OpenMP. `scratch` begins on a bound of 64 bytes.
void convolve(const Tiling& tiling, const Kernels& kernels, const Filters& filters, int threads, const float* input,
              float* scratch, float* output, const program::Ending& ending);

}  // namespace spdnn::depthwise
