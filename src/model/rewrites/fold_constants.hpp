#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Replaces nodes whose inputs are all constants by constants. Values are the oracle's, in fp64 and rounded once, so
/// they are within the bounds of the given model. Keeps a node if a value would not be finite, or if the result is
/// larger than 2^24 elements and larger than its inputs: then the node is cheaper than its result. The shapes must be
/// known. Returns the number of removed nodes.
Index fold_constants(Model& model);

}  // namespace spdnn
