#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Files express hard swish, x min(1, max(0, x / 6 + 1/2)), by several nodes: x + 3, its clip to 0..6, and a product
/// with x and a quotient by 6 in either order; or a hard sigmoid of slope 1/6 and its product with x. Fuses them into
/// one activation, if nothing else reads the values in between. It rounds less often than the nodes, so the oracle's
/// bounds of the given model hold for the rewritten one. Returns the number of activations made.
Index fuse_hard_swish(Model& model);

}  // namespace spdnn
