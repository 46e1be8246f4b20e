#pragma once

#include <optional>
#include <vector>

#include "io/models/architecture/node.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The operation of a node without weights on inputs of these shapes; empty if its op is not one of these. DataError if
/// its fields are invalid.
std::optional<Operation> weightless_operation(ArchitectureNode& node, const std::vector<Shape>& inputs);

/// The dimensions of a window: the field `dims`, or `otherwise`. 1 or 2.
Index dims_of(ArchitectureNode& node, Index otherwise);
/// The fields `pad` and `pad_end` of a node.
void read_padding(ArchitectureNode& node, Index dims, Window& window);

}  // namespace spdnn
