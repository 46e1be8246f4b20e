#pragma once

#include <random>
#include <utility>
#include <vector>

#include "core/types/plan.hpp"
#include "support/matrix_builder.hpp"

/// Plans for the tests of compile_cascade(): layers of one weight, from lists of inputs.
namespace spdnn::testing::cascade {

using Rows = std::vector<std::vector<Index>>;  ///< inputs of each neuron

inline Layer make_layer(Index inputs, const Rows& rows, float weight = 0.1F) {
  MatrixBuilder weights(inputs);
  for (const auto& row : rows) {
    for (const Index input : row) weights.add(input);
    weights.end_row();
  }
  return {weights.uniform(weight), Bias{-0.3, {}}};
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

}  // namespace spdnn::testing::cascade
