#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Removes the nodes that no output of the model depends on, and the values that then nothing names. Inputs of the
/// model stay. Exact: no output changes by a bit. Values that are left keep their order but not their numbers.
/// Returns the number of nodes removed.
Index remove_unread(Model& model);

}  // namespace spdnn
