#pragma once

#include <cstdint>

#include "spdnn/model.hpp"

namespace spdnn {

/// Identifies what a model computes by an XXH3 hash of its graph, shapes, weights as fp32, and other numbers: not of
/// names, nor of the form of weights. Takes one pass over the numbers at memory speed.
std::uint64_t model_digest(const Model& model);

}  // namespace spdnn
