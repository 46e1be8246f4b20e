#pragma once

#include <random>
#include <vector>

#include "spdnn/plan.hpp"

namespace spdnn::testing {

using Rows = std::vector<std::vector<Index>>;  ///< inputs of each neuron

inline Layer make_layer(Index inputs, const Rows& rows, float weight = 0.1F) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (const auto& row : rows) {
    indices.insert(indices.end(), row.begin(), row.end());
    offsets.push_back(indices.size());
  }
  Layer layer;
  layer.weights.rows = static_cast<Index>(rows.size());
  layer.weights.cols = inputs;
  layer.weights.offsets = Array<Offset>(std::move(offsets));
  layer.weights.indices = Array<Index>(std::move(indices));
  layer.weights.value = weight;
  layer.bias.uniform = -0.3;
  return layer;
}

inline Plan plan_of(std::vector<Layer> layers) {
  Plan plan;
  plan.layers = std::move(layers);
  return plan;
}

/// Rows of least .. most terms, repeated ones among them, of the first `read` inputs.
inline Rows random_rows(Index outputs, Index read, Index least, Index most, std::mt19937& random) {
  Rows rows(outputs);
  for (auto& row : rows) {
    row.resize(least + random() % (most - least + 1));
    for (Index& input : row) input = static_cast<Index>(random() % read);
  }
  return rows;
}

}  // namespace spdnn::testing
