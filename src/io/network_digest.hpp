#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spdnn/network.hpp"

namespace spdnn {

/// network_digest() of a network whose layers come some at a time.
class NetworkDigest {
 public:
  NetworkDigest(BiasRule rule, std::optional<double> cap);
  void add(std::span<const Layer> layers);
  std::uint64_t value() const;

 private:
  std::vector<std::uint64_t> words_;  ///< of rule and cap, then one of each layer
};

/// The digests of the weights, and of the biases, of one layer.
std::uint64_t weights_digest(const CsrMatrix& weights);
std::uint64_t bias_digest(const Bias& bias, Index outputs);

}  // namespace spdnn
