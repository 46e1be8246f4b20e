#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

// Tensors consist of blocks of `together` images each: 32 in images32, or one in rows.

/// Of a channel: y = (x - mean) factor + shift.
struct Normalization {
  float mean = 0;
  float factor = 1;
  float shift = 0;
};
/// An image has `channels` times `plane` elements.
void normalize(const float* x, std::size_t blocks, Index together, std::size_t channels, std::size_t plane,
               const Normalization* by_channel, float* y, CUstream_st* stream);

/// exp(x) over its sum along an axis of `length` elements, which are `inner` apart; `lines` of them, of all blocks.
void softmax(const float* x, std::size_t lines, Index together, std::size_t length, std::size_t inner, float* y,
             CUstream_st* stream);

/// Reduces each image of `elements` numbers to `results`: result i combines `terms` of them, which lie at the offsets
/// of the terms from places[i].
struct Reduction {
  enum class Kind : std::uint8_t { sum, product, maximum, minimum };
  Kind kind = Kind::sum;
  std::size_t blocks = 0;
  Index together = 0;
  std::size_t elements = 0;
  std::size_t results = 0;
  std::size_t terms = 0;
};
/// `places`: of the results, then the offsets of the terms.
void reduce_axes(const float* x, const Reduction& reduction, const Index* places, float* y, CUstream_st* stream);

/// Products of matrices: rows x terms of a, terms x columns of b.
struct MatrixProduct {
  Broadcast matrices;  ///< the axes before those of the matrices; its elements are those of an image
  Index rows = 0;
  Index terms = 0;
  Index columns = 0;
  bool transposed = false;  ///< b has columns x terms
};
void multiply_matrices(const float* a, const float* b, std::size_t blocks, Index together, const MatrixProduct& product,
                       float* y, CUstream_st* stream);

}  // namespace spdnn::cuda
