#pragma once

#include <utility>
#include <vector>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Builds a sparse matrix entry by entry, row after row.
class MatrixBuilder {
 public:
  explicit MatrixBuilder(Index cols) : cols_(cols) {}

  void add(Index column, float value = 1.0F) {
    indices_.push_back(column);
    values_.push_back(value);
  }
  void end_row() { offsets_.push_back(indices_.size()); }

  /// The matrix with the added values. Like uniform(), leaves the builder unusable.
  CsrMatrix valued() {
    const Index rows = narrow<Index>(offsets_.size() - 1);
    return make_csr(rows, cols_, std::move(offsets_), std::move(indices_), std::move(values_));
  }
  /// The matrix with one value for all entries.
  CsrMatrix uniform(float value = 1.0F) {
    values_.clear();
    CsrMatrix matrix = valued();
    matrix.value = value;
    return matrix;
  }

 private:
  Index cols_;
  std::vector<Offset> offsets_{0};
  std::vector<Index> indices_;
  std::vector<float> values_;
};

}  // namespace spdnn
