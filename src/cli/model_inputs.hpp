#pragma once

#include "cli/options.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn::cli {

/// Adds the options that specify a model's images: --inputs, --table, --layout, --first and those of pixels.
void add_model_inputs(po::options_description& options);
/// From these options; without --inputs there are no images.
ModelInputs model_inputs(const po::variables_map& values);

}  // namespace spdnn::cli
