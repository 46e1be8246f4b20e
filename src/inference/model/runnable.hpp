#pragma once

#include <string>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// The reason why `infer` refuses the model for any images and variant; empty if it takes the model. It takes models
/// with one input, whose axis 0 holds images, and at least one output of the images. Shapes must be inferred.
std::string why_not_runnable(const Model& model);

/// Keeps those outputs of a runnable model that `infer` gives: the ones named, in their order, or by default all that
/// are computed from the images, with the same axis 0; notes name the others. UsageError if the model has no output of
/// such a name, DataError if that is none of the images.
void choose_outputs(Model& model, const std::vector<std::string>& names, std::vector<std::string>& notes);

}  // namespace spdnn
