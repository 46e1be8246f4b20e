#pragma once

#include "inference/model/choice.hpp"
#include "inference/model/on_ranks.hpp"
#include "spdnn/model_inference.hpp"
#include "spdnn/model_report.hpp"

namespace spdnn {

// What a report says of a run of a model, apart from what was read and from the verdict.

/// The model as given.
void describe_given(const Model& model, ModelReport& report);
/// The model that runs.
void describe_run(const Model& model, ModelReport& report);
/// Engine and machine, before the run.
void describe_engine(const ModelEngineChoice& choice, const Model& model, const ModelEngineOptions& options,
                     const ModelSpec& spec, ModelReport& report);

/// Times and logits, after it.
void record_run(RankedModelResult all, const Model& model, const ModelSpec& spec, ModelReport& report);

}  // namespace spdnn
