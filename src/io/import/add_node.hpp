#pragma once

#include <string>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// Adds a node called `name` to a model that a reader builds, and the value `output` that the node makes, with its
/// shape. Throws DataError, which begins with `where`, where the operation does not take these inputs.
ValueId add_node(Model& model, const std::string& where, const std::string& name, const std::string& output,
                 Operation operation, std::vector<ValueId> inputs);

}  // namespace spdnn
