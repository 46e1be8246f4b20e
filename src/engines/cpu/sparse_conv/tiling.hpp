#pragma once

#include <algorithm>
#include <vector>

#include "engines/cpu/sparse_conv/kernels.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::sparse_conv {

/// Where the taps of an axis find their pixels. Pixel i of a tile that begins at output pixel `begin` reads, for tap t,
/// pixel i + shift[t] of plane[t]; pixel j of plane p is the image's begin * stride - pad + first[p] + j * stride.
struct Taps {
  std::vector<Extent> plane;  ///< by tap
  std::vector<Extent> shift;  ///< by tap
  std::vector<Extent> first;  ///< by plane
  Extent most_shift = 0;
};

/// How a convolution is cut into tiles. Tiles of a thread stay in its caches while all filters of a part read them.
struct Tiling {
  static constexpr bool kAdds = true;  ///< kernels add a value to their sums

  ConvolutionShape shape;  ///< a pointwise convolution is one of images of one row
  Taps down;
  Taps across;
  Extent rows = 1;        ///< of the output in a tile
  Extent columns = 1;     ///< likewise
  Extent pitch = 1;       ///< numbers from row to row of a tile
  Extent channels = 1;    ///< of a block, which are in a tile at a time
  Extent parts = 1;       ///< ranges of a group's filters
  Extent lanes = 1;       ///< of a register
  bool in_place = false;  ///< the image's pixels are read where they are, and there is no tile of the input
  bool fetch = false;     ///< results are fetched before they are stored
  double cycles = 0;      ///< predicted, of the thread that takes longest

  Extent row_tiles() const { return (shape.out.height + rows - 1) / rows; }
  Extent column_tiles() const { return (shape.out.width + columns - 1) / columns; }
  Extent blocks() const { return (shape.channels() + channels - 1) / channels; }
  /// Registers that hold that many pixels.
  Extent vectors(Extent tile_rows, Extent tile_columns) const {
    return ((tile_rows - 1) * pitch + tile_columns + lanes - 1) / lanes;
  }
  /// Whether the sums of that many rows of a tile are adjacent where they are results: then the last block of channels
  /// stores them there.
  bool adjacent(Extent tile_rows) const { return tile_rows == 1 || (pitch == columns && columns == shape.out.width); }
  Extent plane_rows() const { return rows + down.most_shift; }
  /// With the padding, and at least `pitch`; more where the padding on the right of a row is that on the left of the
  /// next.
  Extent plane_columns() const { return std::max(columns + across.most_shift, pitch); }
  Extent plane_size() const { return plane_rows() * pitch; }
  Extent planes() const { return static_cast<Extent>(down.first.size() * across.first.size()); }
  Extent channel_size() const { return in_place ? shape.in.pixels() : planes() * plane_size(); }
  /// Numbers of a tile of the input, those that the last registers read beyond it included.
  Extent tile_size() const { return channels * planes() * plane_size() + plane_columns() + lanes; }
  /// Where the first pixel of a tile finds its factor, in numbers from the channel's first.
  Extent place(Extent tap_row, Extent tap_column) const;
};

/// Pieces of `b` that hold `a`.
inline Extent divided(Extent a, Extent b) { return (a + b - 1) / b; }

/// All tilings that are considered for one part of the filters, without predicted cycles.
std::vector<Tiling> possible_tilings(const ConvolutionShape& shape, const Kernels& kernels);

/// The tiling with the fewest predicted cycles for that many weights that are not zero.
Tiling best_tiling(const ConvolutionShape& shape, Offset entries, int threads, const Kernels& kernels);

}  // namespace spdnn::sparse_conv
