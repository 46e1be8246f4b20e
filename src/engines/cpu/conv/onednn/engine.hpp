#pragma once

#include <memory>

#include "spdnn/model_engine.hpp"

namespace spdnn::onednn {

/// The two functions of conv_dense and of sparse_linear, with threads given; why_not is without the variant's name.
/// What oneDNN itself cannot do is DeviceError.
Support support(const Model& model, const ModelEngineOptions& options, bool sparse_linear);
std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  bool sparse_linear);

}  // namespace spdnn::onednn
