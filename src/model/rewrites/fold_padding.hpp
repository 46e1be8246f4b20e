#pragma once

#include "spdnn/model.hpp"

namespace spdnn {

/// Pads of spatial axes become padding of the windows of the node that reads them: zeros in front of a convolution,
/// whose own padding is zeros, and a number that no element is below in front of a max pool, if each window meets the
/// image. The sums and the maxima are then of the same terms, zeros and such numbers left out, so the oracle's bounds
/// of the given model hold for the rewritten one. Pads that others read stay for them. The shapes must be known.
/// Returns the number of convolutions and pools changed.
Index fold_padding(Model& model);

}  // namespace spdnn
