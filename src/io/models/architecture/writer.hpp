#pragma once

#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "io/packed/stored_tensor.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// A model as architecture.json with its tensors; docs/files.md describes both. Reading them back gives the same model
/// except for names: nodes and their values get the nodes' names, made unique by a numeric suffix.
struct Architecture {
  Json json;  ///< in UTF-8
  std::vector<StoredTensor> tensors;
};

/// The text of an architecture.json.
std::string text_of(const Json& architecture);

/// The model must be valid with known shapes, and must outlive the result. A DataError that names `place` reports a
/// model that the format cannot express: several inputs, an input of 0, 1 or more than 4 axes, or an output that no
/// node makes.
Architecture architecture_of(const Model& model, const std::string& place);

}  // namespace spdnn
