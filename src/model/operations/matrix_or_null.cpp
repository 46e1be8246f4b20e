#include "spdnn/model.hpp"

namespace spdnn {

const CsrMatrix* matrix_or_null(const Operation& operation) {
  if (const auto* convolution = std::get_if<Convolution>(&operation)) return &convolution->weights;
  if (const auto* linear = std::get_if<Linear>(&operation)) return &linear->weights;
  return nullptr;
}

}  // namespace spdnn
