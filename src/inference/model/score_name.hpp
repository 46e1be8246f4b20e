#pragma once

#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// What the numbers of the first output are: `probability` of a softmax, `sigmoid`, `logit` where a convolution, a
/// linear node, a batch norm or a sum makes them, otherwise `output`. Nodes that only move numbers are looked through.
std::string score_name(const Model& model);

}  // namespace spdnn
