#pragma once

#include <optional>
#include <vector>

#include "io/import/architecture_node.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The operation of a node that has no weights, on inputs of these shapes; nothing where its op is not one of these.
/// DataError where its fields are not sound.
std::optional<Operation> weightless_operation(ArchitectureNode& node, const std::vector<Shape>& inputs);

/// The dimensions of a window: the field `dims`, or `otherwise`. 1 or 2.
Index dims_of(ArchitectureNode& node, Index otherwise);
/// The fields `pad` and `pad_end` of a node.
void read_padding(ArchitectureNode& node, Index dims, Window& window);

}  // namespace spdnn
