#pragma once

#include <memory>

#include "spdnn/model_engine.hpp"

namespace spdnn::onednn {

/// conv_dense's two functions, with threads given. What oneDNN itself cannot do is DeviceError.
Support support(const Model& model, const ModelEngineOptions& options);
std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options);

}  // namespace spdnn::onednn
