#pragma once

#include <span>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The non-zeros of a dense matrix. `values` has rows x cols numbers, row by row or, where so said, column by column.
CsrMatrix csr_of_dense(std::span<const float> values, Index rows, Index cols, bool by_columns = false);

}  // namespace spdnn
