// Random pruned layers that resemble real ones in two ways.
//
// Rows. When the smallest weights of a layer are set to zero, some rows keep more than others. In 32 layers (VGG-8 at
// 90 and 95 %, LeNet-5 at 95 %, Kim's text CNN at 87.5 %, all trained and pruned for this project; MobileNetV1 at 90 %
// of Elsen et al. 2019, and ResNet-50's 3x3 filters at 91 and 96 % of SparseRT, Wang 2020), the standard deviation of a
// row's non-zeros is 0.14 to 0.65 of their mean, with a median of 0.35, and the rows range from 0.1 to 0.5 of the mean
// up to twice the mean, in a few layers up to 3.6 times. The weights of rows are therefore sums of three uniform
// numbers: between 0 and twice their mean, with a deviation of a third of it. Linear layers after convolutions may lose
// half of their rows completely, which this law does not model.
//
// Values. Pruning by magnitude leaves no small values: magnitudes are uniform between 1/2 and 3/2 of their mean.
//
// All random numbers are integers, and computations with them are rounded by IEEE 754: the only function used of the C
// library is the square root, which is exact.

#include "data/pruned_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/threads/parallel.hpp"
#include "data/counter_random.hpp"

namespace spdnn {

namespace {

/// The purposes of random sequences.
enum : std::uint64_t { kRows = 16, kColumns, kValues };

constexpr double kMeanSquare = 13.0 / 12;  ///< of numbers uniform in 1/2 .. 3/2

/// Distributes `total` over the rows in proportion to their weights, rounded so that the sum fits. A row gets at most
/// `most`; the excess goes to other rows.
std::vector<Offset> shares(const std::vector<std::uint32_t>& weights, Offset total, Offset most) {
  const auto sum = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  std::vector<Offset> made(weights.size());
  std::uint64_t before = 0;
  Offset given = 0;
  Offset above = 0;
  for (std::size_t row = 0; row < made.size(); ++row) {
    before += weights[row];
    const bool last = row + 1 == made.size();
    const Offset until =
        last ? total : static_cast<Offset>(static_cast<double>(before) * static_cast<double>(total) / sum);
    const Offset share = until - given + above;
    given = until;
    made[row] = std::min(share, most);
    above = share - made[row];
  }
  for (std::size_t row = 0; above > 0; ++row) {
    const Offset more = std::min(above, most - made[row]);
    made[row] += more;
    above -= more;
  }
  return made;
}

/// The number of non-zeros of each row.
std::vector<Offset> counts_of_rows(const PrunedMatrix& wanted) {
  const Offset cols = wanted.cols;
  const auto rounded = [&](Offset weights) {
    const auto nonzeros = static_cast<Offset>(std::llround(static_cast<double>(weights) * (1 - wanted.sparsity)));
    return std::clamp<Offset>(nonzeros, 1, weights);
  };
  if (wanted.law == RowLaw::uniform) return std::vector<Offset>(wanted.rows, rounded(cols));
  constexpr unsigned kBits = 48;  // the sum of three 16-bit numbers has 18 bits: sums over all rows are exact
  RandomStream stream(wanted.seed, kRows, wanted.layer);
  std::vector<std::uint32_t> weights(wanted.rows);
  for (std::uint32_t& weight : weights)
    for (int i = 0; i < 3; ++i) weight += static_cast<std::uint32_t>(stream.next() >> kBits);
  weights.front() += 1;  // so that their sum is not zero
  const Offset all = wanted.rows * cols;
  const Offset nonzeros = rounded(all);
  if (2 * nonzeros <= all) return shares(weights, nonzeros, cols);
  std::vector<Offset> counts = shares(weights, all - nonzeros, cols);  // the law then applies to the zeros
  for (Offset& count : counts) count = cols - count;
  return counts;
}

/// Columns of a row, ascending, drawn without replacement (Knuth, The Art of Computer Programming, volume 2, algorithm
/// S).
void draw_columns(RandomStream stream, std::span<Index> columns, Index cols) {
  Index found = 0;
  const auto count = static_cast<Index>(columns.size());
  for (Index column = 0; found < count; ++column)
    if (stream.below(cols - column) < count - found) columns[found++] = column;
}

}  // namespace

CsrMatrix make_pruned_matrix(const PrunedMatrix& wanted) {
  const std::vector<Offset> counts = counts_of_rows(wanted);
  std::vector<Offset> offsets{0};
  for (const Offset count : counts) offsets.push_back(offsets.back() + count);
  const Offset entries = offsets.back();
  const auto indices = allocate<Index>(entries);
  const auto values = allocate<float>(entries);
  const double mean = std::max(1.0, static_cast<double>(entries) / wanted.rows);
  const double scale = std::sqrt(2 / (mean * kMeanSquare));
  parallel_ranges(wanted.rows, static_cast<std::size_t>(host_threads()) * 4,
                  [&](std::size_t, std::size_t begin, std::size_t end) {
                    for (std::size_t row = begin; row < end; ++row) {
                      const std::uint64_t name = (wanted.layer << 32U) + row;
                      const std::span<Index> columns(indices.get() + offsets[row], counts[row]);
                      draw_columns({wanted.seed, kColumns, name}, columns, wanted.cols);
                      RandomStream stream(wanted.seed, kValues, name);
                      for (Offset k = offsets[row]; k < offsets[row + 1]; ++k) {
                        const std::uint64_t bits = stream.next();
                        const double magnitude = 0.5 + static_cast<double>(bits >> 40U) * 0x1p-24;
                        values[static_cast<std::ptrdiff_t>(k)] =
                            static_cast<float>((bits & 1U) == 0 ? scale * magnitude : -scale * magnitude);
                      }
                    }
                  });
  return CsrMatrix{.rows = wanted.rows,
                   .cols = wanted.cols,
                   .offsets = std::move(offsets),
                   .indices = Array<Index>(indices, entries),
                   .values = Array<float>(values, entries)};
}

}  // namespace spdnn
