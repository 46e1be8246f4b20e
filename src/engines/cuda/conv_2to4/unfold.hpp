#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/cuda/conv_2to4/columns.hpp"

struct CUstream_st;  // of CUDA

namespace spdnn::cuda {

/// A piece of the unfolded input of images N, H, W, C with elements of 16 bits.
struct UnfoldedPiece {
  Index in[2]{};  ///< H, W
  Index out[2]{};
  Index stride[2]{};
  Index channels = 0;
  Index columns = 0;      ///< a multiple of kColumnsTogether
  std::size_t first = 0;  ///< output pixel, of those of all images
  Index pixels = 0;
};

/// Writes `piece.pixels` rows of `piece.columns` elements to the matrix, zeros in the padding.
void unfold_columns(const UnfoldedPiece& piece, const ColumnSource* sources, const std::uint16_t* x,
                    std::uint16_t* matrix, CUstream_st* stream);

}  // namespace spdnn::cuda
