#pragma once

#include "inference/device/engine_choice.hpp"
#include "inference/ranks/run_on_ranks.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

// The report's facts about a run, without those about the inputs and the verdict.

/// Images without a non-zero are not counted, as in all rates; empty if the engine did not count the others.
std::optional<double> computed_edges(const Plan& plan, const Outcome& outcome, Index images);

/// Problem, engine and machine, before the run.
void describe(const Plan& plan, Index images, const EngineChoice& choice, const InferenceSpec& spec, Report& report);

/// Times and outcome, after it.
void record_run(RankedResult all, Report& report);

}  // namespace spdnn
