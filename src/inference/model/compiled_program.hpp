#pragma once

#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// The program that `infer` would run for the model after all rewrites, with these settings and batches of
/// `settings.batch` images (0: as many as `infer` takes), to be stored as Model::program. UsageError where no engine
/// takes the model, or the engine runs no program. `tune`: kernels are chosen by measured times instead of predicted
/// ones (program/tune.hpp).
StoredProgram compiled_program(const Model& model, const EngineSettings& settings, bool tune);

}  // namespace spdnn
