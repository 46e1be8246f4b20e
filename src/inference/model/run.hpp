#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/model_engine.hpp"
#include "inference/run/batch_loop.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

struct ModelRunOptions : LoopOptions {
  ModelEngineOptions engine;  ///< its batch is the initial one
  /// Where the engine stays for later runs of the same variant, model and engine options; the batch of these is then
  /// that of the last result. Null: it ends with the run.
  std::unique_ptr<ModelEngine>* kept = nullptr;
};

struct ModelRunResult : LoopResult {
  std::vector<Tensor> outputs;       ///< of all images, of the first trial
  int differing_trials = 0;          ///< trials whose output differed from the first
  std::optional<Index> overflow;     ///< the first node of any batch; see ModelEngine::overflow()
  std::vector<double> node_seconds;  ///< mean of the trials by node, summed over batches; empty if not timed
};

/// The first of two nodes; empty if both are.
std::optional<Index> first_node(std::optional<Index> a, std::optional<Index> b);

/// The shape of an output for this number of images, which replaces axis 0.
Shape output_of(const Model& model, ValueId output, Index images);

/// `count` images from `first` on; shares storage.
Tensor images_from(const Tensor& images, Index first, Index count);

/// The fixed batch size of the model's input; empty if it takes any number of images.
std::optional<Index> fixed_batch(const Model& model);

/// Runs a model on images, batch after batch (batch_loop.hpp). The outputs are the
/// model's. DeviceError if memory for them is lacking.
ModelRunResult run_model(const ModelVariant& variant, const std::shared_ptr<const Model>& model, const Tensor& images,
                         const ModelRunOptions& options);

}  // namespace spdnn
