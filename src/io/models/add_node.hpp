#pragma once

#include <string>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// Adds a node called `name` to a model under construction, and its output value `output` with the inferred shape.
/// Throws DataError, starting with `where`, if the operation does not accept these inputs.
ValueId add_node(Model& model, const std::string& where, const std::string& name, const std::string& output,
                 Operation operation, std::vector<ValueId> inputs);

}  // namespace spdnn
