// The interpolation is separable: first along the rows of the strip (TrigSpectrum), then across them, as a product with
// a side x 28 matrix for a few columns at a time. Everything is real except the Nyquist terms, which are not split and
// so add an imaginary part of rank one in each direction.
//
// Pixels can be decided only after the largest magnitude is known, so there are two sweeps over the phases. Both
// compute all values, because storing them would take 31 GB at side 256. The decision needs fp64: among the official
// images, the value closest to the threshold t is 7.7e-8, 1.7e-8, 5.9e-9, 2.6e-9 t away at sides 32, 64, 128, 256,
// while fp32 has an error of 1e-6 t and fp64 of 1e-14 t. Scale factors are omitted, as only the ratio to the maximum
// matters, and magnitudes are compared by their squares.
//
// Cost: 2 x 28 x side/4 FFTs of 4 I values, and 2 x side^2 I x 36 flops, for I images.

#include "data/official/trig_upsample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "data/generate.hpp"
#include "data/official/trig_spectrum.hpp"

// The loops below are compiled for several instruction sets, selected by the loader. No version contracts to FMA, so
// all give the same values.
#define SPDNN_FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))

namespace spdnn {

namespace {

constexpr std::size_t kLanes = 8;  ///< columns processed together: one cache line of doubles
/// One value per column for kLanes columns: one vector register on CPUs with wide vectors, otherwise several.
using LaneVector = double __attribute__((vector_size(kLanes * sizeof(double))));
/// Stored with a fixed alignment, because the alignment of a bare vector depends on the instruction set.
struct alignas(kLanes * sizeof(double)) Lanes {
  LaneVector values;
};
using LaneWords = std::array<std::uint64_t, kLanes>;

/// The inputs of the product for kLanes columns.
struct Tile {
  std::array<Lanes, FoldedRows::kEven> even;
  std::array<Lanes, FoldedRows::kOdd> odd;
  Lanes nyquist_sine;  ///< of the column
  Lanes alternating;   ///< sum of (-1)^j times row j
};

/// One row of the matrix. It serves rows r and side - r of the result, whose odd parts differ only in sign.
struct RowPair {
  std::array<double, FoldedRows::kEven> even{};
  std::array<double, FoldedRows::kOdd> odd{};
  double sine = 0;          ///< of the rows' Nyquist term: sin(28 pi r / side)
  double corner = 0;        ///< sine x the combined Nyquist terms of both directions
  double nyquist_even = 0;  ///< the row's product with the Nyquist terms of the strip's rows
  double nyquist_odd = 0;
};

/// The angle 2 pi u (r/side - j/28), reduced exactly.
double angle(std::int64_t u, std::int64_t r, std::int64_t j, std::int64_t side) {
  const std::int64_t turn = static_cast<std::int64_t>(kMnistSide) * side;
  return 2.0 * std::numbers::pi * static_cast<double>(u * (28 * r - side * j) % turn) / static_cast<double>(turn);
}

/// The real part of entry (r, j): the sum of exp(i angle) over u = -14..13.
double entry(Index r, std::size_t j, Index side) {
  constexpr std::int64_t kHalf = kMnistSide / 2;
  const auto column = static_cast<std::int64_t>(j);
  double sum = 1.0 + std::cos(angle(kHalf, r, column, side));
  for (std::int64_t u = 1; u < kHalf; ++u) sum += 2.0 * std::cos(angle(u, r, column, side));
  return sum;
}

double alternating_sum(const auto& value_of_even) {
  double sum = 0;
  for (std::size_t i = 0; i < FoldedRows::kEven; ++i) sum += i % 2 == 0 ? value_of_even(i) : -value_of_even(i);
  return sum;
}

RowPair row_pair(Index r, Index side, const TrigSpectrum& spectrum) {
  RowPair pair;
  for (std::size_t i = 0; i < FoldedRows::kEven; ++i) {
    const bool mirrored = i != 0 && i != kMnistSide / 2;
    pair.even[i] = mirrored ? (entry(r, i, side) + entry(r, kMnistSide - i, side)) / 2 : entry(r, i, side);
    pair.nyquist_even += pair.even[i] * spectrum.nyquist(i);
  }
  for (std::size_t i = 0; i < FoldedRows::kOdd; ++i) {
    pair.odd[i] = (entry(r, i + 1, side) - entry(r, kMnistSide - 1 - i, side)) / 2;
    pair.nyquist_odd += pair.odd[i] * spectrum.nyquist(FoldedRows::kEven + i);
  }
  pair.sine = std::sin(angle(kMnistSide / 2, r, 0, side));
  pair.corner = pair.sine * alternating_sum([&](std::size_t i) { return spectrum.nyquist(i); });
  return pair;
}

/// The squared magnitudes of a tile's columns; squares[r] holds those of row r. The last entry, squares[side], is
/// scratch.
SPDNN_FOR_EACH_CPU void magnitudes(const std::vector<RowPair>& pairs, const Tile& tile, std::vector<Lanes>& squares) {
  const std::size_t side = squares.size() - 1;
  for (std::size_t r = 0; r < pairs.size(); ++r) {
    const RowPair& pair = pairs[r];
    LaneVector real_even{};
    LaneVector real_odd = -pair.corner * tile.nyquist_sine.values;
    for (std::size_t i = 0; i < FoldedRows::kEven; ++i) real_even += pair.even[i] * tile.even[i].values;
    for (std::size_t i = 0; i < FoldedRows::kOdd; ++i) real_odd += pair.odd[i] * tile.odd[i].values;
    const LaneVector imaginary_even = pair.nyquist_even * tile.nyquist_sine.values;
    const LaneVector imaginary_odd = pair.nyquist_odd * tile.nyquist_sine.values + pair.sine * tile.alternating.values;
    const LaneVector real_below = real_even - real_odd;
    const LaneVector real_above = real_even + real_odd;
    const LaneVector imaginary_below = imaginary_even - imaginary_odd;
    const LaneVector imaginary_above = imaginary_even + imaginary_odd;
    squares[side - r].values = real_below * real_below + imaginary_below * imaginary_below;
    squares[r].values = real_above * real_above + imaginary_above * imaginary_above;
  }
}

SPDNN_FOR_EACH_CPU double maximum(const std::vector<Lanes>& squares) {
  LaneVector largest{};
  for (std::size_t r = 0; r + 1 < squares.size(); ++r)
    largest = squares[r].values > largest ? squares[r].values : largest;
  double result = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result = std::max(result, double{largest[lane]});
  return result;
}

/// Bit b of word `lane` is set if row b of that column exceeds the threshold.
SPDNN_FOR_EACH_CPU LaneWords above(std::span<const Lanes> rows, double threshold) {
  LaneWords words{};
  for (std::size_t b = 0; b < rows.size(); ++b)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      words[lane] |= static_cast<std::uint64_t>(rows[b].values[lane] > threshold) << b;
  return words;
}

/// Runs the two sweeps.
class Enlargement {
 public:
  Enlargement(std::span<const std::uint8_t> pixels, Index images, Index side, const ProgressCallback& progress)
      : side_(side),
        spectrum_(pixels, images, side),
        lines_(FoldedRows::kCount, spectrum_.line_length()),
        bar_(progress, "enlarge images", std::uint64_t{2} * spectrum_.phases()) {
    for (Index r = 0; r <= side / 2; ++r) pairs_.push_back(row_pair(r, side, spectrum_));
  }

  double largest_square() {
    std::vector<double> largest(pieces(), 0.0);
    sweep([&](const std::vector<Lanes>& squares, Index, std::size_t, std::size_t, std::size_t piece) {
      largest[piece] = std::max(largest[piece], maximum(squares));
    });
    return *std::max_element(largest.begin(), largest.end());
  }

  /// Column c of the strip consists of the bits from c x side on in the result, whose rows follow one another without
  /// gaps. At side 32 two columns share a word; they belong to different phases, so no two threads write to it
  /// simultaneously.
  void mark(double threshold, std::uint64_t* words) {
    sweep([&](const std::vector<Lanes>& squares, Index phase, std::size_t first, std::size_t count, std::size_t) {
      for (std::size_t row = 0; row < side_; row += 64) {
        const std::span rows(&squares[row], std::min<std::size_t>(64, side_ - row));
        const LaneWords bits = above(rows, threshold);
        for (std::size_t lane = 0; lane < count; ++lane) {
          const std::size_t bit = ((first + lane) * spectrum_.phases() + phase) * side_ + row;
          words[bit / 64] |= bits[lane] << bit % 64;
        }
      }
    });
  }

 private:
  static std::size_t pieces() { return static_cast<std::size_t>(host_threads()) * 4; }

  /// Columns first .. first+count-1 of the phase's lines, where count <= kLanes; the lanes after them are zero.
  Tile load(double nyquist_sine, std::size_t first, std::size_t count) const {
    Tile tile{};
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t i = 0; i < FoldedRows::kEven; ++i) tile.even[i].values[lane] = lines_.row(i)[first + lane];
      for (std::size_t i = 0; i < FoldedRows::kOdd; ++i)
        tile.odd[i].values[lane] = lines_.row(FoldedRows::kEven + i)[first + lane];
      tile.nyquist_sine.values[lane] = (first + lane) % 2 == 0 ? nyquist_sine : -nyquist_sine;
      tile.alternating.values[lane] = alternating_sum([&](std::size_t i) { return tile.even[i].values[lane]; });
    }
    return tile;
  }

  /// Calls visit(squares, phase, first, count, piece) for all tiles of all phases, one phase after another.
  void sweep(const auto& visit) {
    const std::size_t tiles = (spectrum_.line_length() + kLanes - 1) / kLanes;
    for (Index phase = 0; phase < spectrum_.phases(); ++phase) {
      bar_.update(done_++);
      spectrum_.interpolate(phase, lines_);
      const double nyquist_sine = spectrum_.nyquist_sine(phase);
      parallel_ranges(tiles, pieces(), [&](std::size_t piece, std::size_t begin, std::size_t end) {
        std::vector<Lanes> squares(std::size_t{side_} + 1);
        for (std::size_t first = begin * kLanes; first < end * kLanes; first += kLanes) {
          const std::size_t count = std::min(kLanes, spectrum_.line_length() - first);
          magnitudes(pairs_, load(nyquist_sine, first, count), squares);
          visit(squares, phase, first, count, piece);
        }
      });
    }
  }

  Index side_;
  TrigSpectrum spectrum_;
  RealRows lines_;
  std::vector<RowPair> pairs_;
  Progress bar_;
  std::uint64_t done_ = 0;
};

}  // namespace

BitMatrix enlarge_and_threshold(std::span<const std::uint8_t> pixels, Index images, Index side,
                                const ProgressCallback& progress) {
  if (side != 32 && (side == 0 || side % 64 != 0))
    throw std::invalid_argument("the side must be 32 or a multiple of 64");
  if (images == 0 || pixels.size() != std::size_t{images} * kMnistSide * kMnistSide)
    throw std::invalid_argument("expected one or more images of 28 x 28 bytes");
  BitMatrix result{.rows = images, .cols = narrow<Index>(std::size_t{side} * side)};
  Enlargement enlargement(pixels, images, side, progress);
  const double largest = enlargement.largest_square();
  std::vector<std::uint64_t> words(result.words_per_row() * images);
  enlargement.mark(largest / 4, words.data());
  result.words = Array<std::uint64_t>(std::move(words));
  return result;
}

}  // namespace spdnn
