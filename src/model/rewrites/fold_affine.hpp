#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Folds affine maps by channel into the preceding convolution or linear node, if nothing else reads the values in
/// between: batch norms, and sums, differences, products and quotients with constants that have one number, or one per
/// channel. Of a chain of such maps y = f x + s, weights become w f and the bias b f + s, computed in fp64 and rounded
/// once. So each weight carries one rounding more, and the maps' own are gone: the oracle's bounds of the given model
/// hold for the rewritten one (model/oracle/evaluate.hpp). Reshapes and transposes that leave channels where they are,
/// or join neighbouring ones, may stand in between: they stay.
///
/// The division that begins to quantise a value stays, since kernels for int8 have to know the scale, and the weights
/// before it are often int8 themselves. And it is not applied where a product would not be a normal fp32 number, as its
/// rounding would be larger. The shapes must be known. Returns the number of nodes that are gone.
Index fold_affine(Model& model);

}  // namespace spdnn
