#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spdnn/network.hpp"

namespace spdnn {

/// The digests of the weights and of the biases of one layer.
std::uint64_t weights_digest(const CsrMatrix& weights);
std::uint64_t bias_digest(const Bias& bias, Index outputs);

/// network_digest() of a network that is not in memory as a whole, computed from the digests of its layers.
std::uint64_t layer_digest(const Layer& layer);
std::uint64_t network_digest(BiasRule rule, const std::optional<double>& cap,
                             const std::vector<std::uint64_t>& layer_digests);

}  // namespace spdnn
