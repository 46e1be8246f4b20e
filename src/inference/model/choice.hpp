#pragma once

#include "inference/device/engine_choice.hpp"
#include "spdnn/model_engine.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

using ModelEngineChoice = ChosenEngine<ModelVariant>;

/// The variant for a model and its precision: the named one, or the first that takes the model and calls itself
/// preferred, else the first that takes it. UsageError where variant, device and precision contradict one another, or
/// where no variant takes the model.
/// `options.batch` is what is wanted: a smaller one is tried where that does not fit.
ModelEngineChoice choose_model_engine(const EngineSettings& settings, const Model& model,
                                      const ModelEngineOptions& options);

/// The images at a time before memory is looked at.
Index wanted_batch(const EngineSettings& settings, const Model& model, Index images);

/// The images that are run at a time: as asked for, or as the model's input says, or as many as fit the memory that is
/// free, up to 64: more give oneDNN no more to do at once, but their activations leave the caches. DeviceError where
/// not even one fits, UsageError where the model's batch is another, or does not divide `images`.
Index model_batch(const EngineSettings& settings, const ModelVariant& variant, const Model& model, Index images,
                  const ModelEngineOptions& options);

}  // namespace spdnn
