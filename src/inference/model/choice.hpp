#pragma once

#include <string>

#include "engines/model_engine.hpp"
#include "inference/device/engine_choice.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

using ModelEngineChoice = ChosenEngine<ModelVariant>;

/// The variant for a model and its precision: the named one, or the first that takes the model and calls itself
/// preferred, else the first that takes it. Where no variant takes the model, none, and `why` says why. UsageError
/// where variant, device and precision contradict one another. `options.batch` is what is wanted: a smaller one is
/// tried where that does not fit.
ModelEngineChoice find_model_engine(const EngineSettings& settings, const Model& model,
                                    const ModelEngineOptions& options);
/// The same; UsageError where no variant takes the model.
ModelEngineChoice choose_model_engine(const EngineSettings& settings, const Model& model,
                                      const ModelEngineOptions& options);

/// The images at a time before memory is looked at.
Index wanted_batch(const EngineSettings& settings, const Model& model, Index images);

/// Images that are run at a time.
struct ModelBatch {
  Index images = 0;
  std::string too_large{};  ///< not even one batch fits the memory: a sentence; otherwise empty
};
/// As many as are asked for, or as the model's input says, or as fit the memory that is free, up to 64: more give
/// oneDNN no more to do at once, but their activations leave the caches. UsageError where the variant does not take the
/// model, or the model's batch is another, or does not divide `images`.
ModelBatch find_model_batch(const EngineSettings& settings, const ModelVariant& variant, const Model& model,
                            Index images, const ModelEngineOptions& options);
/// The same; DeviceError where not even one batch fits.
Index model_batch(const EngineSettings& settings, const ModelVariant& variant, const Model& model, Index images,
                  const ModelEngineOptions& options);

}  // namespace spdnn
