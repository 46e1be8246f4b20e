#pragma once

#include <string>

#include "cli/options.hpp"
#include "cli/run_steps.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn::cli {

/// Parses --shape `N,3,224,224`: the first axis is N, meaning any number, or a number.
Shape parse_shape(const std::string& text);
CommandForm infer_model_form();
/// `infer` for a model; without checkpoints.
int infer_model(const po::variables_map& values, StartTimes start_times);

}  // namespace spdnn::cli
