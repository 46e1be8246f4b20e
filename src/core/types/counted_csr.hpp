#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>

#include "core/threads/parallel.hpp"
#include "core/threads/parallel_rows.hpp"
#include "spdnn/array.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Builds a CSR matrix with a value per entry in two passes, each of which may be parallel over rows: the first sets
/// the number of entries of every row, then make_room() is called, and the second fills every row.
class CountedCsr {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  CountedCsr(Index rows, Index cols) : rows_(rows), cols_(cols), offsets_(allocate<Offset>(std::size_t{rows} + 1)) {
    std::fill_n(offsets_.get(), std::size_t{rows} + 1, Offset{0});
  }

  /// The number of entries of a row, set before make_room(); 0 by default.
  Offset& count(Index row) { return offsets_[row + 1]; }
  /// std::bad_alloc where the matrix takes more than `most` bytes.
  void make_room(std::size_t most = kUnlimited) {
    for (std::size_t row = 0; row < rows_; ++row) offsets_[row + 1] += offsets_[row];
    const std::size_t offset_bytes = (std::size_t{rows_} + 1) * sizeof(Offset);
    if (offset_bytes > most || offsets_[rows_] > (most - offset_bytes) / (sizeof(Index) + sizeof(float)))
      throw std::bad_alloc();
    indices_ = allocate<Index>(offsets_[rows_]);
    values_ = allocate<float>(offsets_[rows_]);
  }

  /// The first entry of a row, after make_room().
  Offset begin(Index row) const { return offsets_[row]; }
  void put(Offset entry, Index column, float value) {
    indices_[entry] = column;
    values_[entry] = value;
  }
  Index* indices() { return indices_.get(); }
  float* values() { return values_.get(); }

  /// The matrix, once all rows are filled.
  CsrMatrix matrix() const {
    const Offset entries = offsets_[rows_];
    return {rows_, cols_, {offsets_, std::size_t{rows_} + 1}, {indices_, entries}, {values_, entries}};
  }

 private:
  Index rows_;
  Index cols_;
  std::shared_ptr<Offset[]> offsets_;
  std::shared_ptr<Index[]> indices_;
  std::shared_ptr<float[]> values_;
};

/// The non-zero values of dense rows. `row` gives each row's first value, or null for a row of zeros. std::bad_alloc
/// where the matrix takes more than `most` bytes.
template <class RowOf>
CsrMatrix csr_of_rows(Index rows, Index cols, const RowOf& row, std::size_t most = CountedCsr::kUnlimited) {
  CountedCsr csr(rows, cols);
  const auto for_rows = [&](const auto& work) {
    parallel_ranges(rows, useful_pieces(Offset{rows} * cols), [&](auto, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (const auto* const values = row(static_cast<Index>(i))) work(static_cast<Index>(i), values);
    });
  };
  for_rows([&](Index i, const auto* values) {
    csr.count(i) = std::count_if(values, values + cols, [](auto value) { return value != 0; });
  });
  csr.make_room(most);
  for_rows([&](Index i, const auto* values) {
    Offset entry = csr.begin(i);
    for (Index j = 0; j < cols; ++j)
      if (values[j] != 0) csr.put(entry++, j, static_cast<float>(values[j]));
  });
  return csr.matrix();
}

}  // namespace spdnn
