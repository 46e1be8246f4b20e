#pragma once

#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// A node as messages name it: `node 3 "conv1" (convolution)`, counted from 1.
std::string node_text(const Model& model, std::size_t node);

}  // namespace spdnn
