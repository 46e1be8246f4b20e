#include "core/threads/parallel_rows.hpp"

#include <algorithm>

#include "core/threads/crew.hpp"
#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

/// With fewer entries (4 bytes each, more with values), waking another thread costs more than it saves.
constexpr Offset kEntriesPerPiece = 1U << 16;

/// The first row at or after the given share of the work; a row's weight is its number of entries plus one.
Index row_at(const CsrMatrix& matrix, Offset weight) {
  Index low = 0;
  Index high = matrix.rows;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (matrix.offsets[middle] + middle < weight)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

std::size_t useful_pieces(Offset entries) {
  if (within_team()) return 1;
  return std::clamp<std::size_t>(entries / kEntriesPerPiece, 1, static_cast<std::size_t>(host_threads()));
}

bool enough_for_all_threads(std::size_t layers) { return layers >= 4 * static_cast<std::size_t>(host_threads()); }

void for_layers(std::size_t layers, const std::function<void(std::size_t)>& work) {
  if (enough_for_all_threads(layers)) return parallel_for(layers, work);
  for (std::size_t k = 0; k < layers; ++k) work(k);
}

void for_row_ranges(const CsrMatrix& matrix, const std::function<void(Index begin, Index end)>& work) {
  const Offset weight = matrix.entries() + matrix.rows;
  const std::size_t threads = useful_pieces(weight);
  const std::size_t pieces = threads == 1 ? 1 : 4 * threads;
  parallel_for(pieces, [&](std::size_t piece) {
    const Index begin = row_at(matrix, weight / pieces * piece);
    const Index end = piece + 1 == pieces ? matrix.rows : row_at(matrix, weight / pieces * (piece + 1));
    if (begin < end) work(begin, end);
  });
}

}  // namespace spdnn
