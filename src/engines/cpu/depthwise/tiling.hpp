#pragma once

#include <vector>

#include "engines/cpu/depthwise/kernels.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::depthwise {

/// How the images of a convolution whose filters read one channel each are cut into blocks of channels, and these into
/// tiles of rows that fit into L1, or in place. Places in a tile are counted in numbers.
struct Tiling {
  /// For such a convolution.
  Tiling(const ConvolutionShape& of, const Kernels& kernels, int threads);

  static constexpr bool kAdds = false;  ///< whether kernels add a value to their sums

  ConvolutionShape shape;  ///< a sequence is an image of one column
  Extent lanes;            ///< of a register: channels of a block
  Extent parts = 1;        ///< ranges of rows of the output, which threads share
  Extent rows_of_part = 1;
  Extent rows = 1;                    ///< of the output in a tile
  Extent pitch = 1;                   ///< pixels of a row of a tile
  Extent square = 0;                  ///< see AddUp
  bool in_place = false;              ///< planes are read where they are, and there is no tile
  std::vector<Extent> pixel_places;   ///< of the image's, from the first of a row on
  std::vector<Extent> window_places;  ///< of the output's, where what they read begins
  std::vector<Extent> tap_places;     ///< from there

  Extent blocks() const { return (Extent{shape.groups} + lanes - 1) / lanes; }
  Extent row_size() const { return pitch * lanes; }
  /// Rows of a tile's input for that many of its output.
  Extent input_rows(Extent output_rows) const { return (output_rows - 1) * shape.window.stride[0] + reach(0) + 1; }
  /// Rows that a tile and the next one have in common.
  Extent common_rows() const {
    const Extent common = reach(0) + 1 - Extent{shape.window.stride[0]};
    return common > 0 ? common : 0;
  }
  /// Numbers of a tile, those included that the last pixels of a row read beyond it; in place, of a row of padding.
  Extent tile_size() const { return in_place ? shape.in.width : input_rows(rows) * row_size() + beyond_; }

  /// Whether planes can be read where they are: on processors that load some lanes of a register alone.
  bool fits_in_place() const {
    const auto& stride = shape.window.stride;
    return stride[0] == stride[1] && lanes > 4 && (square == 3 || (square == 5 && stride[0] == 2 && lanes == 16));
  }

  /// Predicted cycles of a thread.
  double cycles(int threads) const;

 private:
  // Of a part of a block.
  double cycles_in_tiles() const;
  double cycles_in_place() const;
  // Of a plane.
  double cycles_of_plane() const;
  double cycles_of_plane_by_windows() const;

  Extent beyond_ = 0;
  /// From the first tap of an axis to the last.
  Extent reach(std::size_t axis) const { return (Extent{shape.window.kernel[axis]} - 1) * shape.window.dilation[axis]; }
};

}  // namespace spdnn::depthwise
