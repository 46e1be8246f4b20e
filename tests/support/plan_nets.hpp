#pragma once

// Networks, images and comparisons that the tests of the planner share.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/engines.hpp"

namespace spdnn::plan_tests {

using Terms = std::vector<std::pair<Index, float>>;  ///< input, weight

/// Makes a layer from its rows, with uniform storage where that is requested and possible.
inline Layer make_layer(Index inputs, const std::vector<Terms>& rows, Bias bias, bool uniform = false) {
  Layer layer;
  layer.weights.rows = static_cast<Index>(rows.size());
  layer.weights.cols = inputs;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (const Terms& row : rows) {
    for (const auto& [input, weight] : row) {
      indices.push_back(input);
      values.push_back(weight);
    }
    offsets.push_back(indices.size());
  }
  if (uniform && !values.empty() && std::count(values.begin(), values.end(), values[0]) == std::ssize(values)) {
    layer.weights.value = values[0];
    values.clear();
  }
  layer.weights.offsets = std::move(offsets);
  layer.weights.indices = std::move(indices);
  layer.weights.values = std::move(values);
  layer.bias = std::move(bias);
  return layer;
}

/// A random number below n.
inline Index below(std::mt19937& random, Index n) { return std::uniform_int_distribution<Index>(0, n - 1)(random); }

/// Layer 1: neurons 0 and 1 are twins, 2 is always zero, 3 is not read. Layer 2: neuron 1 reads that zero alone, and
/// neuron 2 reads it beside others.
inline Network small_network() {
  return {
      {make_layer(4, {{{0, 1.0F}, {1, 1.0F}}, {{0, 1.0F}, {1, 1.0F}}, {}, {{2, 1.0F}}, {{3, 1.0F}}}, {-0.5, {}}, true),
       make_layer(5, {{{0, 0.5F}, {1, 0.5F}, {4, 2.0F}}, {{2, 0.25F}}, {{1, 0.5F}, {2, 1.0F}}}, {-0.5, {}})},
      BiasRule::non_zeros,
      32.0};
}

inline Bias bias_of(std::vector<double> values) { return {0.0, Array<double>(std::move(values))}; }

inline Terms terms_of(const CsrMatrix& weights, Index row) {
  Terms terms;
  for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k)
    terms.emplace_back(weights.indices[k], weights.entry_value(k));
  return terms;
}

template <class T>
std::vector<T> to_vector(const Array<T>& array) {
  return {array.begin(), array.end()};
}

template <class T>
bool same_bits(const Array<T>& a, const Array<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

/// Whether two plans of one network are equal bit for bit.
inline ::testing::AssertionResult same_plan(const Plan& a, const Plan& b) {
  if (a.layers.size() != b.layers.size() || a.passes != b.passes || a.provenance.notes != b.provenance.notes ||
      a.certificates.dead_from != b.certificates.dead_from ||
      a.certificates.saturated_from != b.certificates.saturated_from)
    return ::testing::AssertionFailure() << "passes, certificates or depth differ";
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const CsrMatrix& mine = a.layers[k].weights;
    const CsrMatrix& other = b.layers[k].weights;
    if (mine.rows != other.rows || mine.cols != other.cols || !same_bits(mine.offsets, other.offsets) ||
        !same_bits(mine.indices, other.indices) || !same_bits(mine.values, other.values) ||
        !same_bits(a.layers[k].bias.values, b.layers[k].bias.values))
      return ::testing::AssertionFailure() << "layer " << k << " differs";
    if (!same_bits(a.expansion[k], b.expansion[k]))
      return ::testing::AssertionFailure() << "layer " << k << ": the expansion differs";
  }
  return ::testing::AssertionSuccess();
}

/// The activations after every layer (images x stored neurons, row-major), and the outcome.
struct Trace {
  std::vector<std::vector<double>> layers;
  Outcome outcome;
};

inline Trace run_trace(const Variant& variant, Precision precision, const Plan& plan, const ImageSet& images) {
  const auto engine = testing::engine_for(variant, plan, images, {.precision = precision, .threads = 1});
  engine->load(images);
  Trace trace;
  for (Index k = 0; k < plan.depth(); ++k) {
    engine->advance(k, k + 1);
    trace.layers.push_back(engine->activations());
  }
  trace.outcome = engine->outcome();
  return trace;
}

/// Whether the trace of a reduced plan, once expanded, equals the unreduced trace bit for bit. (Zeros may differ in
/// sign; neurons that nothing reads are not compared.)
inline ::testing::AssertionResult expands_to(const Plan& plan, const Trace& reduced, const Trace& full,
                                             std::size_t images) {
  for (std::size_t k = 0; k < plan.layers.size(); ++k) {
    const Index given = plan.provenance.given_neurons[k + 1];
    const Index stored = plan.layers[k].outputs();
    if (reduced.layers[k].size() != images * stored || full.layers[k].size() != images * given)
      return ::testing::AssertionFailure() << "layer " << k << ": wrong number of activations";
    for (std::size_t i = 0; i < images; ++i) {
      for (Index j = 0; j < given; ++j) {
        const Index at = plan.expansion[k].empty() ? j : plan.expansion[k][j];
        if (at == kNotComputed) continue;
        if (at != kAlwaysZero && at >= stored)
          return ::testing::AssertionFailure() << "layer " << k << ": expansion outside the stored neurons";
        const double found = at == kAlwaysZero ? 0.0 : reduced.layers[k][i * stored + at];
        const double expected = full.layers[k][i * given + j];
        if (!(found == expected))
          return ::testing::AssertionFailure()
                 << "layer " << k << ", image " << i << ", neuron " << j << ": " << found << " instead of " << expected;
      }
    }
  }
  if (reduced.outcome.categories != full.outcome.categories)
    return ::testing::AssertionFailure() << "categories differ";
  return ::testing::AssertionSuccess();
}

/// The weight with its last bit flipped.
inline float nudged(float weight) { return std::nextafter(weight, 2 * weight + 1); }

/// Draws small networks with every case that the passes examine: twins and near-twins (which differ in a last bit, an
/// index or their order), chains of them, empty rows, neurons that nothing reads, neurons that are always zero, and
/// layers that saturate.
class NetworkLottery {
 public:
  explicit NetworkLottery(std::uint64_t seed) : random_(seed) {}

  /// Draws a network of that many layers; without a number, of one to six.
  Network network(Index depth = 0) {
    Network net;
    net.bias_rule = chance(0.5) ? BiasRule::non_zeros : BiasRule::everywhere;
    if (chance(0.2))
      net.cap = std::nullopt;
    else
      net.cap = chance(0.5) ? 1.0 : 32.0;
    positive_ = chance(0.4);
    all_twins_ = chance(0.1);
    Index inputs = below(9) + 1;
    for (Index layers = depth > 0 ? depth : below(6) + 1; layers > 0; --layers) {
      net.layers.push_back(layer(inputs));
      inputs = net.layers.back().outputs();
    }
    net.validate();
    return net;
  }

  ImageSet images(Index neurons, Index count) {
    const bool signed_values = chance(0.2);
    Layer rows = make_layer(neurons, {}, {});
    std::vector<Terms> terms(count);
    for (Terms& row : terms) {
      const double density = chance(0.2) ? 0.0 : 0.2 + 0.8 * uniform();
      for (Index j = 0; j < neurons; ++j)
        if (chance(density)) row.emplace_back(j, signed_values ? weight() : 1.0F);
    }
    return ImageSet{make_layer(neurons, terms, {}).weights};
  }

 private:
  double uniform() { return std::uniform_real_distribution<>()(random_); }
  bool chance(double probability) { return uniform() < probability; }
  Index below(Index n) { return std::uniform_int_distribution<Index>(0, n - 1)(random_); }
  float weight() {
    constexpr float kPalette[] = {0.0625F, 0.5F, 1.0F, 0.1F, -0.3F, -1.0F, 0.7F, 3.0F};
    const float w = kPalette[below(8)];
    return positive_ ? std::abs(w) : w;
  }
  double bias() {
    const double b = uniform() * 0.5;
    return chance(positive_ ? 0.9 : 0.6) ? -b : b;
  }

  /// A twin of an earlier row, or nearly one.
  Terms relative(Terms row, Index inputs) {
    if (row.empty() || chance(0.5)) return row;
    const Index at = below(static_cast<Index>(row.size()));
    if (chance(0.3))
      row[at].second = nudged(row[at].second);
    else if (chance(0.5))
      row[at].first = below(inputs);
    else
      std::reverse(row.begin(), row.end());
    return row;
  }

  Layer layer(Index inputs) {
    const Index outputs = chance(0.03) ? 0 : below(12) + 1;
    const bool one_weight = chance(0.4);
    const float common = weight();
    const double common_bias = bias();
    const bool own_biases = chance(0.4);
    std::vector<Terms> rows;
    std::vector<double> biases;
    for (Index j = 0; j < outputs; ++j) {
      biases.push_back(own_biases && chance(0.5) ? bias() : common_bias);
      if (!rows.empty() && (all_twins_ || chance(0.5))) {
        const Terms& other = rows[below(j)];
        rows.push_back(all_twins_ ? other : relative(other, inputs));
        continue;
      }
      Terms row;
      if (inputs > 0 && !chance(0.1))
        for (Index n = below(7); n > 0; --n) row.emplace_back(below(inputs), one_weight ? common : weight());
      rows.push_back(row);
    }
    return make_layer(inputs, rows, own_biases ? bias_of(biases) : Bias{common_bias, {}}, one_weight);
  }

  std::mt19937_64 random_;
  bool positive_ = false;
  bool all_twins_ = false;
};

}  // namespace spdnn::plan_tests
