// What tilings cost.

#include "engines/cpu/sparse_conv/cycles.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engines/cpu/lanes/runnable.hpp"

namespace spdnn::sparse_conv {

namespace {

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

/// The lines that a tile in place takes of a set of a cache, where it takes most. Its rows lie as far apart as planes
/// do, so that those of powers of two share a few sets. `way`: bytes of the cache's sets, one line of each.
double lines_of_a_set(const Tiling& tiling, Extent way) {
  constexpr Extent kNumber = sizeof(float);
  const Extent apart = std::max(std::gcd(way, kNumber * tiling.shape.in.pixels()), kLine);
  const double rows_at_a_place = static_cast<double>(tiling.channels * apart) / static_cast<double>(way);
  return rows_at_a_place * static_cast<double>(divided(kNumber * tiling.columns, apart));
}

/// What a tile costs, in cycles of one thread, by instruction set.
struct Costs {
  double read;         ///< a multiply-add of a register that begins on a bound of 64 bytes
  double read_across;  ///< of one that does not
  double entry;        ///< what a weight takes beside that
  double least_entry;
  double filter;        ///< of a block of channels
  double between;       ///< for each register of sums between blocks
  double results;       ///< for each register of results of a filter with one block
  double row;           ///< of the tile, copied or with padding
  double copied;        ///< for each register of such a row
  double left_row;      ///< of a filter's sums, that is stored apart from the next
  double left;          ///< for each register of such a row
  double in_place;      ///< for each register of a channel read in place: it comes from L2 or L3 at first
  double stored_far;    ///< for each line of results of images that are larger than L2
  double read_far;      ///< for each line of such images
  double run_read_far;  ///< for each piece of adjacent ones
  double item;
};

/// Of Zen 3: two registers are read per cycle, multiplied and added; one across a bound is read twice.
constexpr Costs kCosts{.read = 0.5,
                       .read_across = 1,
                       .entry = 0.75,
                       .least_entry = 2,
                       .filter = 12,
                       .between = 1.5,
                       .results = 1.5,
                       .row = 8,
                       .copied = 1.5,
                       .left_row = 4,
                       .left = 2,
                       .in_place = 0.9,
                       .stored_far = 0,
                       .read_far = 0,
                       .run_read_far = 0,
                       .item = 200};
/// Of AVX-512 on a Sapphire Rapids, fitted to 3600 times of 63 layers with 80 to 95 % zeros: of the tilings that were
/// timed, the one with the fewest predicted cycles takes 4 to 8 % longer than the fastest on average.
constexpr Costs kCostsOfAvx512{.read = 0.61,
                               .read_across = 1.21,
                               .entry = 0.37,
                               .least_entry = 1.3,
                               .filter = 3,
                               .between = 2,
                               .results = 3.4,
                               .row = 8.7,
                               .copied = 2.6,
                               .left_row = 16,
                               .left = 7,
                               .in_place = 1.2,
                               .stored_far = 3.9,
                               .read_far = 3.3,
                               .run_read_far = 8.5,
                               .item = 100};

/// Of AVX-512 on a Zen 4, which computes registers in halves: twice those of Zen 3, but for reads across bounds (1.5 by
/// a loop of them), results and reads in place, which were changed by 140 times of 35 layers at a load of 15.
constexpr Costs kCostsOfHalves{.read = 1,
                               .read_across = 1.5,
                               .entry = 0.75,
                               .least_entry = 2,
                               .filter = 12,
                               .between = 3,
                               .results = 4,
                               .row = 8,
                               .copied = 3,
                               .left_row = 4,
                               .left = 4,
                               .in_place = 1.5,
                               .stored_far = 0,
                               .read_far = 0,
                               .run_read_far = 0,
                               .item = 200};

/// Whether registers are AVX-512's, and the processor computes them whole.
bool has_whole_registers(const Tiling& tiling) { return tiling.lanes == 16 && !lanes::computes_in_halves(16); }

const Costs& costs_of(const Tiling& tiling) {
  return has_whole_registers(tiling) ? kCostsOfAvx512 : tiling.lanes == 16 ? kCostsOfHalves : kCosts;
}

double number(Extent count) { return static_cast<double>(count); }

/// Of registers that the average weight reads, the share that cross bounds of 64 bytes: those of a tap in each of some
/// channels that does not begin at a register's.
double share_across(const Tiling& tiling) {
  if (tiling.in_place) return 0;
  constexpr Extent kChannels = 8;
  const Window& window = tiling.shape.window;
  Extent off_bounds = 0;
  for (Extent channel = 0; channel < kChannels; ++channel)
    for (Extent row = 0; row < window.kernel[0]; ++row)
      for (Extent column = 0; column < window.kernel[1]; ++column)
        off_bounds += Extent{(channel * tiling.channel_size() + tiling.place(row, column)) % tiling.lanes != 0};
  return number(off_bounds * tiling.lanes) / number(16 * kChannels * tiling.shape.taps());
}

double bytes_of_tile(const Tiling& tiling) {
  return 4 * number(tiling.channels * tiling.planes() * tiling.plane_size());
}

/// A multiply-add of a register, on a Zen 3 with one read of L2 for four of L1, and more in place, and beyond L2.
double read_of(const Tiling& tiling, const Costs& costs) {
  const double read = costs.read + (costs.read_across - costs.read) * share_across(tiling);
  const auto fits = [&](double cache, Extent way) {
    return tiling.in_place ? lines_of_a_set(tiling, way) <= cache / number(way) : bytes_of_tile(tiling) <= cache;
  };
  if (fits(tile_bytes().in_l1, kWayOfL1)) return read;
  // Results and entries displace lines of a tile in place that takes all of some sets.
  if (tiling.in_place && fits(tile_bytes().l1, kWayOfL1)) return 1.2 * read;
  const bool in_l2 = fits(tile_bytes().in_l2, kWayOfL2);
  const double from_l2 = tiling.lanes == 16 ? 2 : tiling.lanes == 4 ? 0.6 : 1;
  return std::max(read, (in_l2 ? (tiling.in_place ? 1.3 : 1) : 1.5) * from_l2);
}

/// With AVX-512 on a Sapphire Rapids, where some of a larger tile stays in L1. What is read in place is aligned.
double read_of_avx512(const Tiling& tiling, const Costs& costs) {
  constexpr double kFromL2 = 1.3;
  const double read = costs.read + (costs.read_across - costs.read) * share_across(tiling);
  const auto beyond = [&](double share_of_l1, double free) {
    const double more = std::max(0.0, share_of_l1 - free);
    return kFromL2 * more / (1 + more);
  };
  if (!tiling.in_place) return read + beyond(bytes_of_tile(tiling) / tile_bytes().l1, 0.7);
  return 0.75 * read + beyond(lines_of_a_set(tiling, kWayOfL1) * number(kWayOfL1) / tile_bytes().l1, 0.83);
}

/// What a row takes beside that if its pixels do not lie side by side: there are instructions for a stride of 2.
double strided_cycles(const Tiling& tiling) {
  const double columns = number(tiling.plane_columns());
  switch (tiling.shape.window.stride[1]) {
    case 1:
      return 0;
    case 2:
      return 6 + 2 * columns / number(tiling.lanes);
    default:
      return columns;
  }
}

/// Lines that a tile has of each channel of an image, if rows are `columns` of its `width`, and adjacent pieces of
/// them.
std::pair<double, double> lines_of(Extent rows, Extent columns, Extent width) {
  const bool adjacent = columns >= width;
  const Extent pieces = adjacent ? 1 : rows;
  const Extent piece = adjacent ? rows * width : columns;
  return {number(pieces) * number(divided(piece, kLine / 4) + (piece % (kLine / 4) == 0 ? 0 : 1)), number(pieces)};
}

/// Reading and storing images that do not stay in L2.
double cycles_beyond_l2(const Tiling& tiling, const Costs& costs, double filters) {
  const ConvolutionShape& shape = tiling.shape;
  const auto is_far = [](Extent channels, const ImageExtents& image) {
    return 4 * number(channels * image.pixels()) > tile_bytes().in_l2;
  };
  double cycles = 0;
  if (is_far(shape.out.channels, shape.out))
    cycles += costs.stored_far * filters * lines_of(tiling.rows, tiling.columns, shape.out.width).first;
  if (is_far(shape.in.channels, shape.in)) {
    const Window& window = shape.window;
    const auto [lines, pieces] = lines_of(std::min(tiling.plane_rows() * window.stride[0], shape.in.height),
                                          tiling.columns * window.stride[1], shape.in.width);
    cycles += number(shape.channels()) * (costs.read_far * lines + costs.run_read_far * pieces);
  }
  return cycles;
}

}  // namespace

double bytes_for_tile() { return tile_bytes().in_l1; }

double cycles_of(const Tiling& tiling, Offset entries, int threads) {
  const ConvolutionShape& shape = tiling.shape;
  const Costs& costs = costs_of(tiling);
  const double filters = number(divided(shape.filters(), tiling.parts));
  const double vectors = number(tiling.vectors(tiling.rows, tiling.columns));
  const double pieces = number(divided(tiling.plane_columns(), tiling.lanes));
  const double copy = tiling.in_place ? number(shape.channels()) * (2 + costs.in_place * pieces)
                                      : number(shape.channels() * tiling.planes() * tiling.plane_rows()) *
                                            (costs.row + costs.copied * pieces + strided_cycles(tiling));
  const double read = has_whole_registers(tiling) ? read_of_avx512(tiling, costs) : read_of(tiling, costs);
  const double entry = std::max(vectors * read + costs.entry, costs.least_entry);
  const double entries_of_item = static_cast<double>(entries) / number(shape.groups * tiling.parts);
  const double of_sums = tiling.blocks() == 1 ? costs.results : costs.between;
  const double sums = filters * number(tiling.blocks()) * (costs.filter + of_sums * vectors);
  const double row_left = costs.left_row + costs.left * number(divided(tiling.columns, tiling.lanes));
  const double leave = tiling.adjacent(tiling.rows) ? 0 : filters * number(tiling.rows) * row_left;
  const double item =
      costs.item + copy + entries_of_item * entry + sums + leave + cycles_beyond_l2(tiling, costs, filters);
  const Extent items = shape.out.images * shape.groups * tiling.row_tiles() * tiling.column_tiles() * tiling.parts;
  return item * number(divided(items, threads));
}

/// Fetching results costs instructions, and pays where filters have few weights or where results do not stay in L2:
/// 64x56x56 1x1 -> 256 at 90 % takes 192 instead of 233 us on a Sapphire Rapids. Not measured for the better elsewhere.
bool fetches(const Tiling& tiling, Offset entries) {
  const ConvolutionShape& shape = tiling.shape;
  if (!has_whole_registers(tiling) || !tiling.adjacent(tiling.rows)) return false;
  const double of_filter = static_cast<double>(entries) / number(shape.out.channels);
  const bool is_far = 4 * number(shape.out.channels * shape.out.pixels()) > 2 * tile_bytes().in_l2;
  return tiling.blocks() == 1 && of_filter < (is_far ? 16 : 8);
}

}  // namespace spdnn::sparse_conv
