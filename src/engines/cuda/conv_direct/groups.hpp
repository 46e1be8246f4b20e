#pragma once

#include <cstddef>
#include <vector>

#include "engines/cuda/conv_direct/direct.hpp"

namespace spdnn::cuda {

/// A group of a convolution, as a convolution without groups.
struct DirectGroup {
  DirectShape shape;
  CsrMatrix weights;  ///< of its filters
  Index first_filter;
  std::size_t x_at, y_at;  ///< pixels from the beginning of a block of images
};
std::vector<DirectGroup> direct_groups(const ConvolutionShape& convolution, const CsrMatrix& weights);

}  // namespace spdnn::cuda
