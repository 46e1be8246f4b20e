#pragma once

#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// The kind of the first output's numbers: `probability` of a softmax, `sigmoid`, `logit` where a convolution, a linear
/// node, a batch norm or a sum makes them, otherwise `output`. Nodes that only move numbers are looked through.
std::string score_name(const Model& model);

}  // namespace spdnn
