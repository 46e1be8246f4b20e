#pragma once

#include "inference/model/choice.hpp"
#include "inference/model/on_ranks.hpp"
#include "spdnn/model_inference.hpp"
#include "spdnn/model_report.hpp"

namespace spdnn {

// The fields of a report on a model's run, except those of the inputs and of the verdict.

/// The model as given.
void describe_given(const Model& model, ModelReport& report);
/// The rewritten model.
void describe_run(const Model& model, ModelReport& report);
/// Engine and machine, before the run.
void describe_engine(const ModelEngineChoice& choice, KnownSupport& known, const ModelEngineOptions& options,
                     const ModelSpec& spec, ModelReport& report);

/// Times and logits, after it.
void record_run(RankedModelResult all, const Model& model, const ModelSpec& spec, ModelReport& report);

}  // namespace spdnn
