#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "core/types/plan.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "support/matrix_builder.hpp"

namespace spdnn::testing {

/// Random numbers that are the same on every platform, which the distributions of <random> are not.
class Rng {
 public:
  explicit Rng(std::uint32_t seed) : generator_(seed) {}
  Index below(Index limit) { return static_cast<Index>(generator_() % limit); }
  double real(double low, double high) { return low + (high - low) * (static_cast<double>(generator_()) * 0x1p-32); }

 private:
  std::mt19937 generator_;
};

using Term = std::pair<Index, float>;  ///< input, weight
using Rows = std::vector<std::vector<Term>>;

/// Makes a matrix from its rows, with terms in the given order. If `uniform`, every weight is that of the first term.
inline CsrMatrix make_matrix(Index cols, const Rows& rows, bool uniform = false) {
  MatrixBuilder builder(cols);
  std::optional<float> first;
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      builder.add(column, value);
      if (!first) first = value;
    }
    builder.end_row();
  }
  return uniform ? builder.uniform(first.value_or(1.0F)) : builder.valued();
}

inline Layer make_layer(Index inputs, const Rows& rows, double bias, bool uniform = false) {
  return {make_matrix(inputs, rows, uniform), Bias{bias, {}}};
}

/// A layer of `degree` distinct, ascending inputs per output, with weights drawn from [low, high].
inline Rows random_rows(Rng& rng, Index inputs, Index outputs, Index degree, double low, double high) {
  Rows rows(outputs);
  for (auto& row : rows) {
    std::vector<Index> columns;
    while (columns.size() < std::min(degree, inputs)) {
      const Index column = rng.below(inputs);
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    }
    std::sort(columns.begin(), columns.end());
    for (const Index column : columns) row.emplace_back(column, static_cast<float>(rng.real(low, high)));
  }
  return rows;
}

inline Layer random_layer(Rng& rng, Index inputs, Index outputs, Index degree, double low, double high, double bias) {
  return make_layer(inputs, random_rows(rng, inputs, outputs, degree, low, high), bias);
}

/// A layer with sums of very different lengths: every 40th neuron has `most` terms, the others up to ten, all of which
/// read one of the first `inputs` neurons. Weights are multiples of 1/4 up to 1, or all 1/2.
inline Layer skewed_layer(Rng& rng, Index width, Index inputs, Index most, bool uniform, double bias) {
  Rows rows(width);
  for (Index row = 0; row < width; ++row) {
    const Index degree = row % 40 == 11 ? most : static_cast<Index>(rng.below(11));
    for (Index k = 0; k < degree; ++k) rows[row].emplace_back(rng.below(inputs), 0.5F);
  }
  for (auto& row : rows)
    for (auto& [input, weight] : row)
      if (!uniform) weight = static_cast<float>(1 + rng.below(4)) / 4.0F;
  return make_layer(width, rows, bias, uniform);
}

/// Three such layers, whose activations are multiples of 1/64 and exact in fp32. With `own_biases`, each neuron of the
/// last layer has its own bias; some of these are positive.
inline Network skewed_network(Rng& rng, Index width, Index most, bool uniform, bool own_biases) {
  Network network;
  for (const double bias : {-0.125, -0.5, -1.0})
    network.layers.push_back(skewed_layer(rng, width, width, most, uniform, bias));
  if (own_biases) {
    std::vector<double> values(width);
    for (Index j = 0; j < width; ++j) values[j] = (static_cast<double>(j * 7 % 9) - 6) / 8;
    network.layers.back().bias.values = std::move(values);
  }
  network.cap = 32.0;
  return network;
}

/// Images with values in (0, 1]. The probability that a neuron is not zero differs from image to image, from nearly 0
/// to twice the density; every seventh image is empty.
inline ImageSet valued_images(Rng& rng, Index images, Index neurons, double density) {
  Rows rows(images);
  for (Index image = 0; image < images; ++image)
    for (Index neuron = 0; neuron < neurons; ++neuron)
      if (image % 7 != 6 && rng.real(0, 1) < density * (image % 10 + 0.5) / 5)
        rows[image].emplace_back(neuron, static_cast<float>(rng.real(0.01, 1)));
  return {make_matrix(neurons, rows)};
}

/// The same with zeros and ones.
inline ImageSet bit_images(Rng& rng, Index images, Index neurons, double density) {
  CsrMatrix lit = valued_images(rng, images, neurons, density).sparse();
  lit.values = {};
  return {ImageSet{std::move(lit)}.to_bits()};
}

/// Whether a row at the cap provably stays there, by a margin that is much larger than any rounding.
inline bool keeps_cap(const Network& network, const Layer& layer) {
  if (!network.cap || layer.outputs() == 0) return false;
  for (Index j = 0; j < layer.outputs(); ++j) {
    double sum = 0;
    for (Offset k = layer.weights.offsets[j]; k < layer.weights.offsets[j + 1]; ++k) {
      if (layer.weights.entry_value(k) < 0) return false;
      sum += layer.weights.entry_value(k);
    }
    if (sum * *network.cap * (1 - 1e-4) + layer.bias[j] < *network.cap) return false;
  }
  return true;
}

/// The network itself as a plan, with those of the requested dynamic passes that are sound.
inline Plan unreduced_plan(const Network& network, const Passes& passes = {}) {
  Plan plan;
  plan.layers = network.layers;
  plan.bias_rule = network.bias_rule;
  plan.cap = network.cap;
  plan.passes = passes;
  plan.expansion.resize(network.layers.size());
  plan.provenance.given_edges = network.edges();
  plan.provenance.given_neurons.push_back(network.inputs());
  for (const Layer& layer : network.layers) plan.provenance.given_neurons.push_back(layer.outputs());
  plan.certificates.dead_from = plan.depth();
  while (plan.certificates.dead_from > 0 &&
         (network.bias_rule == BiasRule::non_zeros || network.layers[plan.certificates.dead_from - 1].outputs() == 0 ||
          network.layers[plan.certificates.dead_from - 1].bias.max() <= 0))
    --plan.certificates.dead_from;
  plan.certificates.saturated_from = plan.depth();
  while (plan.certificates.saturated_from > 0 &&
         keeps_cap(network, network.layers[plan.certificates.saturated_from - 1]))
    --plan.certificates.saturated_from;
  if (!network.cap) plan.passes.saturated = false;
  return plan;
}

}  // namespace spdnn::testing
