#pragma once

#include <cstdint>

#include "spdnn/network.hpp"

namespace spdnn {

/// The digests of the weights and of the biases of one layer.
std::uint64_t weights_digest(const CsrMatrix& weights);
std::uint64_t bias_digest(const Bias& bias, Index outputs);

}  // namespace spdnn
