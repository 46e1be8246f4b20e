#pragma once

#include "spdnn/csr_matrix.hpp"

namespace spdnn::planning {

inline constexpr double kUnit = 0x1p-24;        ///< unit roundoff of fp32
inline constexpr double kUnderflow = 0x1p-126;  ///< the most that one fp32 operation may lose to underflow

/// The sum of the weights of one row.
struct RowSum {
  double sum = 0;
  double absolute = 0;  ///< the sum of their absolute values
};
RowSum row_sum(const CsrMatrix& weights, Index row);

}  // namespace spdnn::planning
