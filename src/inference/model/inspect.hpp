#pragma once

#include <functional>
#include <optional>
#include <string>

#include "report/model/document.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// The view of a model with each variant's support for it in its default precision, and the variant that `infer` would
/// choose for the rewritten model, or the reason why it would refuse it. `asked` is the wanted batch, `text_of` the
/// text of an error. UsageError if the model's batch is fixed to another number.
ModelView inspected_model(const std::string& name, const Model& model, std::optional<Index> asked,
                          const std::function<std::string(const Error&)>& text_of);

}  // namespace spdnn
