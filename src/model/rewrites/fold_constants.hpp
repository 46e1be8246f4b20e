#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Makes constants of the nodes that read constants alone. Values are the oracle's, in fp64 and rounded once, so they
/// are within the bounds of the given model. It is not applied where a value would not be finite, and where a result is
/// larger than 2^24 elements and than what it is made of: such a node stays cheaper than its result. The shapes must be
/// known. Returns the number of nodes that are gone.
Index fold_constants(Model& model);

}  // namespace spdnn
