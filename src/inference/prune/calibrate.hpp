#pragma once

#include <map>

#include "prune/quantise_values.hpp"
#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The ranges, on images, of all values that convolutions and linear nodes read. UsageError if the model cannot be run
/// or there are no images; DataError if a value is not finite.
std::map<ValueId, ValueRange> calibrated_ranges(const Model& model, const Tensor& images,
                                                const EngineSettings& settings);

}  // namespace spdnn
