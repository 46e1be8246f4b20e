#pragma once

#include "engines/engine.hpp"
#include "engines/model_engine.hpp"

// Expansions of a line of a list of variants, for src/engines/variants.def, model_variants.def and lists of tests. Code
// that includes such a list defines SPDNN_VARIANT(name, device, description, precisions...) as one of these.

/// The declarations of the two functions that a variant consists of, in namespace spdnn.
#define SPDNN_DECLARE_VARIANT(name)                                                               \
  Support support_##name(const Plan& plan, const BatchInfo& batch, const EngineOptions& options); \
  std::unique_ptr<Engine> make_##name(std::shared_ptr<const Plan> plan, const BatchInfo& batch,   \
                                      const EngineOptions& options);

#define SPDNN_DECLARE_MODEL_VARIANT(name)                                                                         \
  Support support_##name(const Model& model, const ModelEngineOptions& options);                                  \
  std::unique_ptr<ModelEngine> make_##name(std::shared_ptr<const Model> model, const ModelEngineOptions& options, \
                                           const Support& support);

/// An element of a std::vector<Variant> or std::vector<ModelVariant>.
#define SPDNN_LIST_VARIANT(name, device, description, ...) \
  {#name, Device::device, description, {__VA_ARGS__}, support_##name, make_##name},
