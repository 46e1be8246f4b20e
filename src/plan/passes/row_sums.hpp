#pragma once

#include "spdnn/csr_matrix.hpp"

namespace spdnn::planning {

/// The sum of the weights of one row.
struct RowSum {
  double sum = 0;
  double absolute = 0;  ///< the sum of their absolute values
};
RowSum row_sum(const CsrMatrix& weights, Index row);

}  // namespace spdnn::planning
