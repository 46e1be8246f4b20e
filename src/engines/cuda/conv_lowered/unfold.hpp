#pragma once

#include <cstddef>

#include "spdnn/types.hpp"

struct CUstream_st;  // of CUDA

namespace spdnn::cuda {

/// A group of a convolution of 32 images in images32; entry 0 of arrays is of H, entry 1 of W.
struct Unfolding {
  Index channels = 0;  ///< of the group
  Index in[2]{};
  Index out[2]{};
  Index kernel[2]{};
  Index stride[2]{};
  Index dilation[2]{};
  Index pad[2]{};

  std::size_t rows() const { return std::size_t{channels} * kernel[0] * kernel[1]; }
  std::size_t columns() const { return std::size_t{out[0]} * out[1] * 32; }
  /// Whether the input is its own unfolded form.
  bool is_identity() const {
    for (Index axis = 0; axis < 2; ++axis)
      if (kernel[axis] != 1 || stride[axis] != 1 || pad[axis] != 0 || in[axis] != out[axis]) return false;
    return true;
  }
};

/// Unfolds the channels' images at x into a row-major matrix, whose row (c, r, s) has for each output pixel and image
/// the element of channel c that weight (r, s) multiplies, 0 in the padding.
void unfold(const float* x, const Unfolding& unfolding, float* matrix, CUstream_st* stream);

}  // namespace spdnn::cuda
