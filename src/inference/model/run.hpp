#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/model_engine.hpp"
#include "inference/run/batch_loop.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

struct ModelRunOptions : LoopOptions {
  ModelEngineOptions engine;  ///< its batch is the one to begin with
};

struct ModelRunResult : LoopResult {
  Tensor output;                     ///< the model's first, of all images, of the first trial
  int differing_trials = 0;          ///< that gave other bits than the first
  std::optional<Index> overflow;     ///< the first node of any batch; see ModelEngine::overflow()
  std::vector<double> node_seconds;  ///< by node, the mean of the trials, summed over batches; empty where not timed
};

/// The first of two nodes, where there are any.
std::optional<Index> first_node(std::optional<Index> a, std::optional<Index> b);

/// `count` images from `first` on; shares storage.
Tensor images_from(const Tensor& images, Index first, Index count);

/// The images of a batch that the model's input asks for; nothing where it takes any number.
std::optional<Index> fixed_batch(const Model& model);

/// Runs a model on images, batch after batch (batch_loop.hpp). DeviceError where there is no memory for the output.
ModelRunResult run_model(const ModelVariant& variant, const std::shared_ptr<const Model>& model, const Tensor& images,
                         const ModelRunOptions& options);

}  // namespace spdnn
