#pragma once

#include <string>
#include <vector>

#include "core/json_text.hpp"
#include "io/stored_tensor.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// A model as architecture.json, and the tensors beside it; docs/files.md describes both. What is read from them again
/// is the same model, but for names: nodes and values get those of the nodes, made unique by a number at their end.
struct Architecture {
  OrderedJson json;  ///< of UTF-8 alone
  std::vector<StoredTensor> tensors;
};

/// The text of an architecture.json.
std::string text_of(const OrderedJson& architecture);

/// The model must be valid and its shapes known; it must outlive the result. DataError, which names `place`, where the
/// model has what the format does not: several inputs or outputs, or an input of 0, 1 or more than 4 axes.
Architecture architecture_of(const Model& model, const std::string& place);

}  // namespace spdnn
