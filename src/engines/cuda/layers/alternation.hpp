#pragma once

#include <cstddef>
#include <span>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

/// Whether a sum's inputs are a, b, a, b, ..., each of the two equally often, as is common after `twins`. Such a sum
/// reads two activations, whatever its length.
inline bool alternates(std::span<const Index> inputs) {
  if (inputs.size() % 2 != 0) return false;
  for (std::size_t k = 2; k < inputs.size(); ++k)
    if (inputs[k] != inputs[k - 2]) return false;
  return true;
}

}  // namespace spdnn::cuda
