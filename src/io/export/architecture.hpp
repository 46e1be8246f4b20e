#pragma once

#include <span>
#include <string>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// A tensor of a .safetensors file: the dense form of a matrix, or a list of numbers. It points into a model.
struct StoredTensor {
  std::string name;
  Shape shape;
  const CsrMatrix* matrix = nullptr;
  std::span<const float> values;  ///< where there is no matrix
};

/// A model as architecture.json, and the tensors beside it; docs/files.md describes both. What is read from them again
/// is the same model, but for names: nodes and values get those of the nodes, made unique by a number at their end.
struct Architecture {
  std::string json;
  std::vector<StoredTensor> tensors;
};

/// The model must be valid and its shapes known; it must outlive the result. DataError, which names `place`, where the
/// model has what the format does not: several inputs or outputs, or an input of 0, 1 or more than 4 axes.
Architecture architecture_of(const Model& model, const std::string& place);

}  // namespace spdnn
