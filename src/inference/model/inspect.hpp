#pragma once

#include <functional>
#include <string>

#include "inference/device/engine_choice.hpp"
#include "report/model/document.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// The view of a model with each variant's support for it, in its default precision or the settings', and the variant
/// that `infer` would choose for the rewritten model with these settings, or the reason why it would refuse it.
/// `text_of` gives the text of an error. UsageError if the model's batch is fixed to another number than the settings',
/// or if no variant computes in their precision.
ModelView inspected_model(const std::string& name, const Model& model, const EngineSettings& settings,
                          const std::function<std::string(const Error&)>& text_of);

}  // namespace spdnn
