#pragma once

#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

// Times are by node of the given model, for `settings.batch` images (0: one), with the variant that `infer` would
// choose, after all rewrites. Changes of layout count for the node that needs them; a node that a rewrite removes has
// none. UsageError where no engine takes the model.

std::vector<double> predicted_seconds(const Model& model, const EngineSettings& settings);

struct MeasuredSeconds {
  std::vector<double> before{};
  std::vector<double> after{};
  int runs = 0;  ///< of each model
};

/// The shortest time of each node in several runs of two models by turns, on generated images: times are independent
/// of what the images show. Empty if the models cannot be run. Takes a few seconds at most, or five runs.
MeasuredSeconds measured_seconds(const Model& before, const Model& after, const EngineSettings& settings);

}  // namespace spdnn
