#pragma once

#include <cstddef>

#include "spdnn/types.hpp"

struct CUstream_st;  // of CUDA

namespace spdnn::cuda {

// Tensors consist of blocks of `together` images each: 32 in images32, or one in rows.

/// The entry of a table for an element that is not copied.
inline constexpr Index kNowhere = ~Index{0};

/// Element i of the result's images is element table[i] of those of x, which have `elements`, or `fill`.
struct Gathering {
  std::size_t blocks = 0;
  Index together = 0;
  std::size_t elements = 0;
  std::size_t results = 0;  ///< elements of an image of the result
  float fill = 0;
};
void gather(const float* x, const Gathering& gathering, const Index* table, float* y, CUstream_st* stream);

/// Along an axis, the two elements that a result lies between, and the weight of the second.
struct Interpolation {
  Index first = 0;
  Index second = 0;
  float weight = 0;
};

/// Planes of other extents; entry 0 of arrays is of H, entry 1 of W.
struct Resizing {
  std::size_t planes = 0;  ///< channels of all blocks
  Index together = 0;
  Index in[2]{};
  Index out[2]{};
  bool linear = false;  ///< else each result is the first of the elements
};
/// `taps`: of the rows of a result, then of its columns.
void resize(const float* x, const Resizing& resizing, const Interpolation* taps, float* y, CUstream_st* stream);

}  // namespace spdnn::cuda
