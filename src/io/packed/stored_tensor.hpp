#pragma once

#include <span>
#include <string>

#include "spdnn/tensor.hpp"
#include "spdnn/weights.hpp"

namespace spdnn {

/// A tensor of a model to be written to a file: a matrix, or a list of numbers. It points into the model.
struct StoredTensor {
  std::string name;
  Shape shape;  ///< of a matrix: the first axis gives the rows, the others the columns
  const Weights* weights = nullptr;
  std::span<const float> values;  ///< used if there are no weights
};

}  // namespace spdnn
