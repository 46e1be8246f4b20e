#include "engines/cpu/sparse_conv/tiling.hpp"

#include <algorithm>
#include <limits>

#include "engines/cpu/sparse_conv/cycles.hpp"

namespace spdnn::sparse_conv {

namespace {

/// A convolution of one pixel does not distinguish rows from columns.
ConvolutionShape flattened(ConvolutionShape shape) {
  const Window& window = shape.window;
  const auto is = [](const std::array<Index, 2>& of_axes, Index value) {
    return of_axes[0] == value && of_axes[1] == value;
  };
  if (!is(window.kernel, 1) || !is(window.stride, 1) || !is(window.pad_begin, 0) || !is(window.pad_end, 0))
    return shape;
  for (ImageExtents* const image : {&shape.in, &shape.out}) {
    image->width = image->pixels();
    image->height = 1;
  }
  return shape;
}

/// A plane for each phase of the stride.
Taps phases(const Window& window, std::size_t axis) {
  Taps taps;
  for (Extent tap = 0; tap < window.kernel[axis]; ++tap) {
    const Extent place = tap * window.dilation[axis];
    const Extent phase = place % window.stride[axis];
    const auto found = std::find(taps.first.begin(), taps.first.end(), phase);
    taps.plane.push_back(found - taps.first.begin());
    if (found == taps.first.end()) taps.first.push_back(phase);
    taps.shift.push_back(place / window.stride[axis]);
    taps.most_shift = std::max(taps.most_shift, taps.shift.back());
  }
  return taps;
}

/// A plane for each tap, so that none is shifted.
Taps copies(const Window& window, std::size_t axis) {
  Taps taps;
  for (Extent tap = 0; tap < window.kernel[axis]; ++tap) {
    taps.plane.push_back(tap);
    taps.shift.push_back(0);
    taps.first.push_back(tap * window.dilation[axis]);
  }
  return taps;
}

/// Columns of padding that the end of a row has in common with the beginning of the next, in the only plane across.
Extent shared_padding(const Tiling& tiling) {
  const Window& window = tiling.shape.window;
  if (tiling.columns < tiling.shape.out.width || window.stride[1] != 1 || tiling.across.first.size() > 1) return 0;
  const Extent left = window.pad_begin[1];
  const Extent right = tiling.columns + tiling.across.most_shift - left - tiling.shape.in.width;
  return std::max<Extent>(std::min(left, right), 0);
}

/// Whether a tile's rows are registers of the image, whole ones, so that nothing behind it is read.
bool readable_in_place(const Tiling& tiling) {
  const ImageExtents& in = tiling.shape.in;
  const Window& window = tiling.shape.window;
  const bool of_one_pixel = window.kernel[0] == 1 && window.kernel[1] == 1 && in.height == 1 && tiling.rows == 1 &&
                            window.stride[1] == 1 && in.width == tiling.shape.out.width && window.pad_begin[1] == 0;
  return of_one_pixel && in.width % tiling.lanes == 0 && tiling.columns % tiling.lanes == 0;
}

/// Visits all tilings for one part of the filters.
template <class Visit>
class Search {
 public:
  Search(const ConvolutionShape& shape, const Kernels& kernels, Visit visit)
      : visit_(visit), most_vectors_(kernels.most_vectors) {
    tiling_.shape = flattened(shape);
    tiling_.lanes = kernels.lanes;
  }

  void run() {
    const Window& window = tiling_.shape.window;
    const Extent width = tiling_.shape.out.width;
    const Extent most_columns = most_vectors_ * tiling_.lanes;
    tiling_.down = phases(window, 0);
    for (const auto taps : {phases, copies}) {
      if (taps == copies && window.kernel[1] == 1) continue;
      tiling_.across = taps(window, 1);
      for (Extent tiles = divided(width, most_columns); tiles <= divided(width, tiling_.lanes); ++tiles) {
        tiling_.columns = divided(width, tiles);
        try_columns();
        tiling_.columns = std::min(rounded(tiling_.columns), most_columns);
        if (tiles > 1) try_columns();
      }
    }
  }

 private:
  Extent rounded(Extent count) const { return divided(count, tiling_.lanes) * tiling_.lanes; }

  void try_columns() {
    const Extent width = tiling_.columns + tiling_.across.most_shift;
    for (const Extent pitch : {width - shared_padding(tiling_), rounded(width)}) {
      tiling_.pitch = pitch;
      try_rows();
    }
  }

  void try_rows() {
    const Extent height = tiling_.shape.out.height;
    const Extent most_pixels = most_vectors_ * tiling_.lanes;
    const Extent most_rows = std::min((most_pixels - tiling_.columns) / tiling_.pitch + 1, height);
    // With fewer rows, more channels fit into L1.
    tiling_.rows = 0;
    for (const Extent share : {1, 2, 3, 4, 6}) {
      const Extent rows = divided(height, divided(height, divided(most_rows, share)));
      if (rows == tiling_.rows) continue;
      tiling_.rows = rows;
      try_channels();
    }
  }

  void try_channels() {
    tiling_.in_place = false;
    const auto fitting = static_cast<Extent>(bytes_for_tile() / (4 * static_cast<double>(tiling_.channel_size())));
    const Extent channels = tiling_.shape.channels();
    const Extent most_blocks = divided(channels, std::clamp<Extent>(fitting, 1, channels));
    tiling_.channels = 0;
    for (const Extent blocks : {most_blocks, (most_blocks + 1) / 2, Extent{1}}) {
      if (divided(channels, blocks) == tiling_.channels) continue;
      tiling_.channels = divided(channels, blocks);
      for (const bool in_place : {false, true}) {
        tiling_.in_place = in_place;
        if (!in_place || readable_in_place(tiling_)) visit_(tiling_);
      }
    }
  }

  Visit visit_;
  Extent most_vectors_;
  Tiling tiling_;
};

}  // namespace

Extent Tiling::place(Extent tap_row, Extent tap_column) const {
  const auto r = static_cast<std::size_t>(tap_row);
  const auto s = static_cast<std::size_t>(tap_column);
  const Extent planes_across = static_cast<Extent>(across.first.size());
  return (down.plane[r] * planes_across + across.plane[s]) * plane_size() + down.shift[r] * pitch + across.shift[s];
}

std::vector<Tiling> possible_tilings(const ConvolutionShape& shape, const Kernels& kernels) {
  std::vector<Tiling> tilings;
  Search(shape, kernels, [&](const Tiling& tiling) { tilings.push_back(tiling); }).run();
  return tilings;
}

Tiling best_tiling(const ConvolutionShape& shape, Offset entries, int threads, const Kernels& kernels) {
  Tiling best;
  best.cycles = std::numeric_limits<double>::infinity();
  Search(shape, kernels, [&](Tiling tiling) {
    for (tiling.parts = 1; tiling.parts <= std::min<Extent>(threads, tiling.shape.filters()); ++tiling.parts) {
      tiling.cycles = cycles_of(tiling, entries, threads);
      if (tiling.cycles < best.cycles) best = tiling;
    }
  }).run();
  best.fetch = fetches(best, entries);
  return best;
}

}  // namespace spdnn::sparse_conv
