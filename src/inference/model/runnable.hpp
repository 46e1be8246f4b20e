#pragma once

#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// Why `infer` refuses the model, whatever the images are and whichever variant is to run it: it takes models of one
/// input, with images on axis 0, and a first output that is made of them, with as many images on axis 0. Empty where
/// the model is such a one. Its shapes are inferred.
std::string why_not_runnable(const Model& model);

}  // namespace spdnn
