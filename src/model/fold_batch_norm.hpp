#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Makes each batch norm a part of the convolution or linear node before it, if nothing else reads what that makes:
/// with f = scale / sqrt(variance + epsilon), weights become w f and the bias (b - mean) f + shift, computed in fp64
/// and rounded once. So each weight carries one rounding more and the batch norm's own are gone: the oracle's bounds of
/// the given model hold for the rewritten one (engines/reference/model.hpp).
///
/// It stands aside where a product would not be a normal fp32 number, as its rounding would be larger. The shapes must
/// be known. Returns the number of batch norms that are gone.
Index fold_batch_norm(Model& model);

}  // namespace spdnn
