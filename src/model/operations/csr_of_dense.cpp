#include "model/operations/csr_of_dense.hpp"

#include "core/types/counted_csr.hpp"

namespace spdnn {

CsrMatrix csr_of_dense(std::span<const float> values, Index rows, Index cols, bool by_columns) {
  if (by_columns) return transpose(csr_of_dense(values, cols, rows));
  return csr_of_rows(rows, cols, [&](Index row) { return values.data() + std::size_t{row} * cols; });
}

}  // namespace spdnn
