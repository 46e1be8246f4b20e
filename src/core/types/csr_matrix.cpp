#include "spdnn/csr_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "core/threads/parallel.hpp"
#include "core/types/all_finite.hpp"

namespace spdnn {

void CsrMatrix::validate() const {
  if (offsets.size() != std::size_t{rows} + 1) throw std::invalid_argument("offsets must have rows + 1 entries");
  if (rows > kMaxIndex || cols > kMaxIndex) throw std::invalid_argument("more than 2^31-1 rows or columns");
  if (offsets[0] != 0 || offsets.back() != indices.size())
    throw std::invalid_argument("offsets must run from 0 to the number of entries");
  if (!values.empty() && values.size() != indices.size())
    throw std::invalid_argument("values must have one entry per index, or none");
  if (!std::is_sorted(offsets.begin(), offsets.end())) throw std::invalid_argument("offsets descend");
  if (!std::isfinite(value)) throw std::invalid_argument("a value is not finite");
  parallel_ranges(indices.size(), static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
    if (std::any_of(indices.begin() + begin, indices.begin() + end, [&](Index column) { return column >= cols; }))
      throw std::invalid_argument("a column is outside the matrix");
    if (!values.empty() && !all_finite(values.span().subspan(begin, end - begin)))
      throw std::invalid_argument("a value is not finite");
  });
}

bool CsrMatrix::ascends() const {
  for (Index i = 0; i < rows; ++i) {
    const std::span<const Index> columns = row(i);
    if (std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) != columns.end()) return false;
  }
  return true;
}

CsrMatrix make_csr(Index rows, Index cols, std::vector<Offset> offsets, std::vector<Index> indices,
                   std::vector<float> values) {
  return CsrMatrix{.rows = rows,
                   .cols = cols,
                   .offsets = Array<Offset>(std::move(offsets)),
                   .indices = Array<Index>(std::move(indices)),
                   .values = Array<float>(std::move(values))};
}

std::vector<float> dense_rows(const CsrMatrix& matrix, Index first, Index last) {
  std::vector<float> dense(std::size_t{last - first} * matrix.cols);
  for (Index row = first; row < last; ++row)
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k)
      dense[std::size_t{row - first} * matrix.cols + matrix.indices[k]] = matrix.entry_value(k);
  return dense;
}

CsrMatrix transpose(const CsrMatrix& matrix) {
  std::vector<Offset> offsets(std::size_t{matrix.cols} + 1, 0);
  for (const Index column : matrix.indices) ++offsets[std::size_t{column} + 1];
  for (std::size_t column = 0; column < matrix.cols; ++column) offsets[column + 1] += offsets[column];

  const auto indices = allocate<Index>(matrix.entries());
  const auto values = allocate<float>(matrix.values.size());
  std::vector<Offset> next(offsets.begin(), offsets.end() - 1);
  for (Index row = 0; row < matrix.rows; ++row) {
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k) {
      const Offset slot = next[matrix.indices[k]]++;
      indices[static_cast<std::ptrdiff_t>(slot)] = row;
      if (!matrix.uniform()) values[static_cast<std::ptrdiff_t>(slot)] = matrix.values[k];
    }
  }
  CsrMatrix result{.rows = matrix.cols,
                   .cols = matrix.rows,
                   .offsets = Array<Offset>(std::move(offsets)),
                   .indices = Array<Index>(indices, matrix.entries())};
  if (!matrix.uniform()) result.values = Array<float>(values, matrix.values.size());
  result.value = matrix.value;
  return result;
}

}  // namespace spdnn
