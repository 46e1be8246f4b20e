#pragma once

#include <random>

#include "spdnn/network.hpp"
#include "support/matrix_builder.hpp"

namespace spdnn::testing {

/// Rows of `degree` terms, or of random lengths up to it (every ninth: up to three times it). Inputs are unordered and
/// may repeat.
inline Layer random_layer(Index inputs, Index outputs, Index degree, bool regular, bool values, std::mt19937& random) {
  MatrixBuilder builder(inputs);
  for (Index row = 0; row < outputs; ++row) {
    const Index terms = regular ? degree : static_cast<Index>(random() % (degree + 1)) * (row % 9 == 0 ? 3 : 1);
    for (Index k = 0; k < terms; ++k) {
      const auto input = static_cast<Index>(random() % inputs);
      builder.add(input, static_cast<float>(random() % 1000) / 64 + 1);
    }
    builder.end_row();
  }
  return {values ? builder.valued() : builder.uniform(), {}};
}

}  // namespace spdnn::testing
