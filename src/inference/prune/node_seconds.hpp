#pragma once

#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// The time of each node that `infer` is predicted to take for `settings.batch` images (0: one), with the variant that
/// it would choose, after all rewrites; changes of layout count for the node that needs them. A node that a rewrite
/// removes has none. UsageError where no engine takes the model.
std::vector<double> predicted_seconds(const Model& model, const EngineSettings& settings);

}  // namespace spdnn
