#pragma once

#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// The reason why `infer` refuses the model for any images and variant; empty if it takes the model. It takes models
/// with one input, whose axis 0 holds images, and a first output computed from them with the same axis 0. Shapes must
/// be inferred.
std::string why_not_runnable(const Model& model);

}  // namespace spdnn
