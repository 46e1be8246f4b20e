#pragma once

#include <span>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The non-zeros of a dense matrix in row-major order. `values` has rows x cols numbers.
CsrMatrix csr_of_dense(std::span<const float> values, Index rows, Index cols);

}  // namespace spdnn
