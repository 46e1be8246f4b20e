#pragma once

#include <string>

#include "cli/options.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn::cli {

/// --shape `N,3,224,224`: the batch is N, which is any number, or a number.
Shape parse_shape(const std::string& text);
CommandForm infer_model_form();
/// `infer` where a model is given: no checkpoints.
int infer_model(const Arguments& arguments, double load_seconds);

}  // namespace spdnn::cli
