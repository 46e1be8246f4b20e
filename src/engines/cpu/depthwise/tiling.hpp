#pragma once

#include <vector>

#include "engines/cpu/depthwise/kernels.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::depthwise {

/// How the planes of a convolution whose filters read one channel each are cut into tiles that fit into L1.
struct Tiling {
  /// For such a convolution.
  Tiling(const ConvolutionShape& of, const Kernels& kernels, int threads);

  ConvolutionShape shape;
  Extent rows = 1;                    ///< of the output in a tile
  Extent phase_columns = 1;           ///< numbers of a phase in a row of a tile
  Extent pitch = 1;                   ///< numbers of a row of a tile
  Extent columns = 0;                 ///< of the image that are read, from the first on
  std::vector<Extent> column_places;  ///< in a row of a tile, of each of the image's first `stride` columns
  std::vector<Extent> tap_places;     ///< from the place of an output's first tap
  Extent square = 0;                  ///< see AddUp

  /// Of all images.
  Extent tiles() const { return shape.out.images * shape.groups * row_tiles(); }
  Extent row_tiles() const { return (shape.out.height + rows - 1) / rows; }
  /// Rows of a tile's input for that many of its output.
  Extent input_rows(Extent output_rows) const {
    const Window& window = shape.window;
    return (output_rows - 1) * window.stride[0] + (Extent{window.kernel[0]} - 1) * window.dilation[0] + 1;
  }
  Extent tile_size() const { return input_rows(rows) * pitch; }

  /// Predicted cycles of a thread.
  double cycles(int threads) const;

 private:
  Extent lanes_;  ///< of a register
};

}  // namespace spdnn::depthwise
