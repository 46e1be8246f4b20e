#pragma once

#include <functional>
#include <map>
#include <vector>

#include "prune/quantise_values.hpp"
#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// Runs a model on images for some of its values.
using RunOfValues = std::function<std::vector<Tensor>(const Tensor& images)>;
/// Makes one that takes at most `batch` images.
using MakeRunOfValues = std::function<RunOfValues(const std::vector<ValueId>& values, Index batch)>;

/// The ranges, on images, of all values that convolutions and linear nodes read: the model is run once on each image.
/// UsageError if the model cannot be run or there are no images; DataError if a value is not finite.
std::map<ValueId, ValueRange> calibrated_ranges(const Model& model, const Tensor& images,
                                                const EngineSettings& settings);
/// Likewise by the runs that `make` makes.
std::map<ValueId, ValueRange> calibrated_ranges(const Model& model, const Tensor& images, const MakeRunOfValues& make);

}  // namespace spdnn
