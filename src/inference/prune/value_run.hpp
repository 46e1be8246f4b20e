#pragma once

#include <functional>
#include <optional>

#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/session.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// Computes one value of a model for images: the nodes that it depends on, and no others.
class ValueRun {
 public:
  /// The model has one input (why_not_runnable()).
  ValueRun(const Model& model, ValueId value, const EngineSettings& settings);
  Tensor operator()(const Tensor& images) const;

 private:
  std::optional<ModelSession> session_;  ///< none: the value is the model's input
};

/// Calls take(first, some) for all images, some at a time: as many as a model with a fixed batch takes, or 64.
void for_some_images(const Model& model, const Tensor& images,
                     const std::function<void(Index first, const Tensor& some)>& take);

/// The model's first output for all images, as rows of logits.
Tensor logits_of(const Model& model, const Tensor& images, const EngineSettings& settings);

}  // namespace spdnn
