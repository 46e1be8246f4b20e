#pragma once

// Networks of narrow layers: those that `tail_kernel` runs.

#include <vector>

#include "engines/cuda/cascade/tail_program.hpp"
#include "spdnn/network.hpp"
#include "support/matrix_builder.hpp"
#include "support/networks.hpp"

namespace spdnn::testing {

/// Layers of `widths` neurons, each of kTailDegree terms. Sums are exact in fp32 for ten layers.
inline Network narrow_network(Index inputs, const std::vector<Index>& widths, Rng& rng) {
  Network network;
  Index from = inputs;
  for (const Index width : widths) {
    MatrixBuilder weights(from);
    for (Index row = 0; row < width; ++row) {
      for (Index t = 0; t < kTailDegree; ++t) weights.add(static_cast<Index>(rng.below(from)));
      weights.end_row();
    }
    network.layers.push_back({weights.uniform(0.25F), Bias{-2.0, {}}});
    from = width;
  }
  network.cap = 1.5;
  return network;
}

}  // namespace spdnn::testing
