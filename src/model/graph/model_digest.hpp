#pragma once

#include <cstdint>

#include "spdnn/model.hpp"

namespace spdnn {

/// Identifies the function of a model by an XXH3 hash of its graph, shapes, weights as fp32, and other numbers, without
/// names and the form of weights. Cost: one pass over the numbers at memory speed.
std::uint64_t model_digest(const Model& model);

}  // namespace spdnn
