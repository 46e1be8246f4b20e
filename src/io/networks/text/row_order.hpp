#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

// If columns ascend within rows, as in most files, no row can hold a column twice. Ascent is checked block by block by
// counting: each place at which a column is not greater than the previous one must be the beginning of a row. Counting
// vectorises, and only the beginnings of rows are looked up.

/// The number of places k in 1..size-1 with columns[k] <= columns[k - 1].
inline std::size_t falls(std::span<const Index> columns) {
  std::size_t count = 0;
  for (std::size_t k = 1; k < columns.size(); ++k) count += columns[k] <= columns[k - 1] ? 1 : 0;
  return count;
}

/// The number of such places at row beginnings; `columns` are those of entries first, first + 1, ... The two counts are
/// equal if rows ascend.
template <class T>
std::size_t falls_at_beginnings(std::size_t first, std::span<const T> columns, const Array<Offset>& offsets) {
  std::size_t count = 0;
  Offset before = first;
  const Offset* row = std::upper_bound(offsets.begin(), offsets.end(), Offset{first});
  for (; row != offsets.end() && *row < first + columns.size(); ++row) {
    const std::size_t k = *row - first;
    count += *row != before && columns[k] <= columns[k - 1] ? 1 : 0;
    before = *row;
  }
  return count;
}

/// Whether the step to entry `at` ascends, or begins a row.
inline bool step_ascends(const Index* columns, std::size_t at, const Array<Offset>& offsets) {
  return columns[at - 1] < columns[at] || std::binary_search(offsets.begin(), offsets.end(), Offset{at});
}

/// Finds the first row that holds a column twice, and the column. Used if rows do not ascend; sorts each row.
std::optional<std::pair<Index, Index>> repeated_entry(const CsrMatrix& matrix);

}  // namespace spdnn
