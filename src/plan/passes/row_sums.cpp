#include "plan/passes/row_sums.hpp"

#include <cmath>

namespace spdnn::planning {

RowSum row_sum(const CsrMatrix& weights, Index row) {
  if (weights.uniform()) {
    const double sum = static_cast<double>(weights.degree(row)) * weights.value;
    return {sum, std::abs(sum)};
  }
  RowSum result;
  for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
    result.sum += weights.values[k];
    result.absolute += std::abs(weights.values[k]);
  }
  return result;
}

}  // namespace spdnn::planning
