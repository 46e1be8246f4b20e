#pragma once

#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// For each element of an image of this value, whether it is a probability: a softmax or a sigmoid made it, and it was
/// only moved, joined with others, or multiplied by other probabilities since. Shapes must be inferred.
std::vector<bool> probabilities_of(const Model& model, ValueId value);

}  // namespace spdnn
