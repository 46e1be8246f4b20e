#pragma once

#include "spdnn/types.hpp"

namespace spdnn {

/// The share of zeros among `weights`, 0 to 1; 0 without weights.
inline double share_of_zeros(Offset weights, Offset nonzeros) {
  return weights == 0 ? 0 : 1 - static_cast<double>(nonzeros) / static_cast<double>(weights);
}

}  // namespace spdnn
