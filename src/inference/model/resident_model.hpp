#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engines/model_engine.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// A model with the engine that runs it: what a run's trials and a session's batches share.
class ResidentModel {
 public:
  /// Compiles the model for the options' batch.
  ResidentModel(const ModelVariant& variant, std::shared_ptr<const Model> model, ModelEngineOptions options);

  /// Makes a batch resident; see ModelEngine::load().
  void load(const Tensor& images) { engine_->load(images); }
  /// Runs the loaded batch from the first node to the last and returns the model's outputs. Calls `advanced` with the
  /// number of nodes after each step. Cancelled where the options' question is answered so.
  std::vector<Tensor> run(const std::function<void(Index nodes)>& advanced = {});

  const Model& model() const { return *model_; }
  const ModelEngineOptions& options() const { return options_; }
  std::optional<Index> overflow() const { return engine_->overflow(); }
  std::vector<double> node_seconds() const { return engine_->node_seconds(); }

 private:
  std::shared_ptr<const Model> model_;
  ModelEngineOptions options_;
  std::unique_ptr<ModelEngine> engine_;
};

}  // namespace spdnn
