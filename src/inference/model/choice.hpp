#pragma once

#include <string>

#include "engines/model_engine.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/model/known_support.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

using ModelEngineChoice = ChosenEngine<ModelVariant>;

/// The variant for a model and its precision: the named one, or the first preferred one that supports the model, or the
/// first that supports it. If there is none, `variant` is null and `why` gives the reason. UsageError if variant,
/// device and precision contradict one another. `options.batch` is the wanted batch; smaller ones are tried if it does
/// not fit.
ModelEngineChoice find_model_engine(const EngineSettings& settings, KnownSupport& known,
                                    const ModelEngineOptions& options);
/// The same; UsageError if no variant supports the model.
ModelEngineChoice choose_model_engine(const EngineSettings& settings, KnownSupport& known,
                                      const ModelEngineOptions& options);

/// The batch that the model asks for: its fixed one, or that of the program stored with it.
std::optional<Index> batch_of(const Model& model);
/// The wanted batch, before memory limits.
Index wanted_batch(const EngineSettings& settings, const Model& model, Index images);

/// The images of a batch.
struct ModelBatch {
  Index images = 0;
  std::string too_large{};  ///< a sentence if not even one batch fits into memory; otherwise empty
};
/// The requested batch, or the model's. Otherwise 64 images; more, up to 1024, while they take at most 1 MB and the
/// output of each node at most 64 MB; fewer if memory does not suffice. UsageError if the variant does not support the
/// model, or if the model's batch differs from the requested one or does not divide `images`.
ModelBatch find_model_batch(const EngineSettings& settings, const ModelVariant& variant, KnownSupport& known,
                            Index images, const ModelEngineOptions& options);
/// The same; DeviceError if not even one batch fits.
Index model_batch(const EngineSettings& settings, const ModelVariant& variant, KnownSupport& known, Index images,
                  const ModelEngineOptions& options);

}  // namespace spdnn
