#pragma once

#include <span>
#include <vector>

#include "spdnn/array.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// A sparse matrix in compressed sparse rows (CSR). Row i holds the entries offsets[i] .. offsets[i+1]-1.
/// A matrix of one repeated value stores that value once: `values` is empty and every entry is `value`.
struct CsrMatrix {
  Index rows = 0;
  Index cols = 0;
  Array<Offset> offsets{};  ///< rows + 1, ascending, from 0 to the number of entries
  Array<Index> indices{};   ///< column of each entry, below cols
  Array<float> values{};    ///< value of each entry, or empty
  float value = 1.0F;       ///< value of every entry where `values` is empty

  Offset entries() const { return indices.size(); }
  bool uniform() const { return values.empty(); }
  std::span<const Index> row(Index i) const { return indices.span().subspan(offsets[i], offsets[i + 1] - offsets[i]); }
  Offset degree(Index i) const { return offsets[i + 1] - offsets[i]; }
  float entry_value(Offset k) const { return values.empty() ? value : values[k]; }
  std::size_t bytes() const { return offsets.bytes() + indices.bytes() + values.bytes(); }
  /// Whether the columns of every row ascend strictly, so that none is repeated. The matrix is valid.
  bool ascends() const;

  /// Throws std::invalid_argument if the arrays are not a valid matrix: wrong lengths, descending offsets, a column
  /// outside the matrix, a value that is not finite. Costs one parallel pass over the entries.
  void validate() const;
};

/// The matrix of these arrays; without values every entry is 1. Nothing is checked.
CsrMatrix make_csr(Index rows, Index cols, std::vector<Offset> offsets, std::vector<Index> indices,
                   std::vector<float> values = {});

/// Rows first, first + 1, ... below last as numbers, row by row, zeros included. Repeated entries: the last one counts.
std::vector<float> dense_rows(const CsrMatrix& matrix, Index first, Index last);

/// The transpose; within each of its rows the columns ascend. Repeated entries stay repeated. O(entries + rows + cols).
CsrMatrix transpose(const CsrMatrix& matrix);

}  // namespace spdnn
