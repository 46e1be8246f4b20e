#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Files say hard swish, x min(1, max(0, x / 6 + 1/2)), in several nodes: x + 3, its clip to 0..6, and a product with x
/// and a quotient by 6 in either order; or a hard sigmoid of slope 1/6 and its product with x. Makes one activation of
/// them, where nothing else reads what lies between. Its roundings are fewer than those of the nodes, so that the
/// oracle's bounds of the given model hold for the rewritten one. Returns the number of activations made.
Index fuse_hard_swish(Model& model);

}  // namespace spdnn
