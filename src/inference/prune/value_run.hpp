#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/session.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// Computes values of a model for images, all in one run: the nodes that they depend on, and no others.
class ValuesRun {
 public:
  /// The model has one input (why_not_runnable()).
  ValuesRun(const Model& model, const std::vector<ValueId>& values, const EngineSettings& settings);
  /// In the order of the values.
  std::vector<Tensor> operator()(const Tensor& images) const;
  /// That are computed for an image.
  std::size_t nodes() const { return session_ ? session_->model().nodes.size() : 0; }

 private:
  std::vector<std::optional<std::size_t>> outputs_;  ///< of the session, by value; none: it is the model's input
  std::optional<ModelSession> session_;              ///< none: all are
};

inline constexpr Index kImagesAtOnce = 64;
/// Calls take(first, some) for all images, some at a time: as many as a model with a fixed batch takes, or `most`.
void for_some_images(const Model& model, const Tensor& images,
                     const std::function<void(Index first, const Tensor& some)>& take, Index most = kImagesAtOnce);

/// The model's first output for all images, as rows of logits. DataError if they are not finite.
Tensor logits_of(const Model& model, const Tensor& images, const EngineSettings& settings);

}  // namespace spdnn
