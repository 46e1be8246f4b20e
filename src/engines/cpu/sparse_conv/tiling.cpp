#include "engines/cpu/sparse_conv/tiling.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace spdnn::sparse_conv {

namespace {

Extent divided(Extent a, Extent b) { return (a + b - 1) / b; }

/// Bytes of the caches that a tile may take: the rest is for sums and entries.
struct TileBytes {
  static double bytes_of(int name, double otherwise) {
    const long found = ::sysconf(name);
    return found > 0 ? static_cast<double>(found) : otherwise;
  }
  double l1 = bytes_of(_SC_LEVEL1_DCACHE_SIZE, 32768);
  double in_l1 = 0.8 * l1;
  double in_l2 = 0.6 * bytes_of(_SC_LEVEL2_CACHE_SIZE, 524288);
};

const TileBytes& tile_bytes() {
  static const TileBytes bytes;
  return bytes;
}

/// The bytes of a line in each set: 4 KB of L1 in all processors with pages of 4 KB, and common for L2.
constexpr Extent kWayOfL1 = 4096;
constexpr Extent kWayOfL2 = 65536;
constexpr Extent kLine = 64;

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

/// Columns of padding that the end of a row has in common with the beginning of the next.
Extent shared_padding(const Tiling& tiling) {
  const Window& window = tiling.shape.window;
  if (tiling.columns < tiling.shape.out.width || window.stride[1] != 1) return 0;
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

/// The lines that a tile in place takes of a set of a cache, where it takes most. Its rows lie as far apart as planes
/// do, so that those of powers of two share a few sets. `way`: bytes of the cache's sets, one line of each.
double lines_of_a_set(const Tiling& tiling, Extent way) {
  constexpr Extent kNumber = sizeof(float);
  const Extent apart = std::max(std::gcd(way, kNumber * tiling.shape.in.pixels()), kLine);
  const double rows_at_a_place = static_cast<double>(tiling.channels * apart) / static_cast<double>(way);
  return rows_at_a_place * static_cast<double>(divided(kNumber * tiling.columns, apart));
}

// What a tile costs, in cycles of one thread. Two registers are read per cycle, and multiplied and added; one that
// crosses a bound of 64 bytes is read twice.

/// As many reads from L1 as one of a register from L2 takes: measured on a Zen 3, and for AVX-512 on a Sapphire Rapids,
/// where lines that are not adjacent to those before take three cycles.
double reads_from_l2(Extent lanes) { return lanes == 4 ? 1.2 : lanes == 8 ? 2 : 6; }

/// Reads of a register by the average tap.
double reads_of(const Tiling& tiling) {
  const auto lanes = static_cast<double>(tiling.lanes);
  double off_bounds = 1 - 1 / lanes;
  if (tiling.pitch % tiling.lanes == 0) {
    const auto shifted = std::count_if(tiling.across.shift.begin(), tiling.across.shift.end(),
                                       [&](Extent shift) { return shift % tiling.lanes != 0; });
    off_bounds = static_cast<double>(shifted) / static_cast<double>(tiling.across.shift.size());
  }
  const double reads = 1 + off_bounds * lanes / 16;
  // In place it takes somewhat more, and from beyond L2 half as much again.
  const double bytes = 4 * static_cast<double>(tiling.channels * tiling.planes() * tiling.plane_size());
  const auto fits = [&](double cache, Extent way) {
    return tiling.in_place ? lines_of_a_set(tiling, way) <= cache / static_cast<double>(way) : bytes <= cache;
  };
  if (fits(tile_bytes().in_l1, kWayOfL1)) return reads;
  // Results and entries displace lines of a tile in place that takes all of some sets.
  if (tiling.in_place && fits(tile_bytes().l1, kWayOfL1)) return 1.2 * reads;
  const bool in_l2 = fits(tile_bytes().in_l2, kWayOfL2);
  return std::max(reads, (in_l2 ? (tiling.in_place ? 1.3 : 1) : 1.5) * reads_from_l2(tiling.lanes));
}

/// What a row takes beside that if its pixels do not lie side by side: there are instructions for a stride of 2.
double strided_cycles(const Tiling& tiling) {
  const auto columns = static_cast<double>(tiling.plane_columns());
  switch (tiling.shape.window.stride[1]) {
    case 1:
      return 0;
    case 2:
      return 6 + 2 * columns / static_cast<double>(tiling.lanes);
    default:
      return columns;
  }
}

double cycles_of(const Tiling& tiling, Offset entries, int threads) {
  const ConvolutionShape& shape = tiling.shape;
  const auto number = [](Extent count) { return static_cast<double>(count); };
  const double filters = number(divided(shape.filters(), tiling.parts));
  const double vectors = number(tiling.vectors(tiling.rows, tiling.columns));
  const double pieces = number(divided(tiling.plane_columns(), tiling.lanes));
  // In place, pixels come from L2 or L3 when they are first read.
  const double copy = tiling.in_place ? number(shape.channels()) * (2 + 0.9 * pieces)
                                      : number(shape.channels() * tiling.planes() * tiling.plane_rows()) *
                                            (8 + 1.5 * pieces + strided_cycles(tiling));
  const double entry = std::max((vectors * reads_of(tiling) + 1.5) / 2, 2.0);
  const double entries_of_item = static_cast<double>(entries) / number(shape.groups * tiling.parts);
  const double sums = filters * number(tiling.blocks()) * (12 + 1.5 * vectors);
  const double leave = tiling.adjacent(tiling.rows)
                           ? 0
                           : filters * number(tiling.rows) * (4 + 2 * number(divided(tiling.columns, tiling.lanes)));
  const double item = 200 + copy + entries_of_item * entry + sums + leave;
  const Extent items = shape.out.images * shape.groups * tiling.row_tiles() * tiling.column_tiles() * tiling.parts;
  return item * number(divided(items, threads));
}

class Search {
 public:
  Search(const ConvolutionShape& shape, Offset entries, int threads, const Kernels& kernels)
      : entries_(entries), threads_(threads), most_vectors_(kernels.most_vectors) {
    best_.shape = flattened(shape);
    best_.lanes = kernels.lanes;
    best_.cycles = std::numeric_limits<double>::infinity();
  }

  Tiling best() {
    const Window& window = best_.shape.window;
    const Extent width = best_.shape.out.width;
    const Extent most_columns = most_vectors_ * best_.lanes;
    Tiling tiling = best_;
    tiling.down = phases(window, 0);
    for (const bool copied : {false, true}) {
      tiling.across = copied ? copies(window, 1) : phases(window, 1);
      for (Extent tiles = divided(width, most_columns); tiles <= divided(width, tiling.lanes); ++tiles) {
        tiling.columns = divided(width, tiles);
        try_columns(tiling);
        tiling.columns = std::min(rounded(tiling.columns), most_columns);
        if (tiles > 1) try_columns(tiling);
      }
    }
    return best_;
  }

 private:
  Extent rounded(Extent count) const { return divided(count, best_.lanes) * best_.lanes; }

  void try_columns(Tiling tiling) {
    const Extent width = tiling.columns + tiling.across.most_shift;
    for (const Extent pitch : {width - shared_padding(tiling), rounded(width)}) {
      tiling.pitch = pitch;
      try_rows(tiling);
    }
  }

  void try_rows(Tiling tiling) {
    const Extent height = tiling.shape.out.height;
    const Extent most_rows = (most_vectors_ * tiling.lanes - tiling.columns) / tiling.pitch + 1;
    // With fewer rows, more channels fit into L1.
    for (const Extent rows : {most_rows, (most_rows + 1) / 2}) {
      tiling.rows = divided(height, divided(height, std::min(rows, height)));
      try_channels(tiling);
    }
  }

  void try_channels(Tiling tiling) {
    const auto fitting = static_cast<Extent>(tile_bytes().in_l1 / (4 * static_cast<double>(tiling.channel_size())));
    const Extent channels = tiling.shape.channels();
    const Extent most_blocks = divided(channels, std::clamp<Extent>(fitting, 1, channels));
    for (const Extent blocks : {most_blocks, (most_blocks + 1) / 2, Extent{1}}) {
      tiling.channels = divided(channels, blocks);
      for (tiling.parts = 1; tiling.parts <= std::min<Extent>(threads_, tiling.shape.filters()); ++tiling.parts) {
        for (const bool in_place : {false, true}) {
          tiling.in_place = in_place && readable_in_place(tiling);
          tiling.cycles = cycles_of(tiling, entries_, threads_);
          if (tiling.cycles < best_.cycles) best_ = tiling;
        }
      }
    }
  }

  Tiling best_;
  Offset entries_;
  int threads_;
  Extent most_vectors_;
};

}  // namespace

Extent Tiling::place(Extent tap_row, Extent tap_column) const {
  const auto r = static_cast<std::size_t>(tap_row);
  const auto s = static_cast<std::size_t>(tap_column);
  const Extent planes_across = static_cast<Extent>(across.first.size());
  return (down.plane[r] * planes_across + across.plane[s]) * plane_size() + down.shift[r] * pitch + across.shift[s];
}

Tiling best_tiling(const ConvolutionShape& shape, Offset entries, int threads, const Kernels& kernels) {
  return Search(shape, entries, threads, kernels).best();
}

}  // namespace spdnn::sparse_conv
