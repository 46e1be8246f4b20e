#pragma once

#include <span>
#include <string>

#include "spdnn/csr_matrix.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// A tensor of a model, as it goes into a file: a matrix, or a list of numbers. It points into the model.
struct StoredTensor {
  std::string name;
  Shape shape;  ///< of a matrix: the first axis makes the rows, the others make the columns
  const CsrMatrix* matrix = nullptr;
  std::span<const float> values;  ///< where there is no matrix
};

}  // namespace spdnn
