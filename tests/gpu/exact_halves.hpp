#pragma once

// Problems whose activations are exact in fp16, and an engine's results for them, layer by layer.

#include <cmath>

#include "support/battery.hpp"
#include "support/engines.hpp"

namespace spdnn::cuda {

/// Weights 1/2, 1 or 2, or 1/2 alone, biases multiples of 1/8, values of images multiples of 1/4, three layers: all
/// activations are multiples of 1/32, or of 1/64 for values, and at most 32: halves hold them.
inline testing::Case exact_case(Index width, Index images, bool uniform, bool values) {
  testing::Rng rng(width + 2 * uniform + values);
  testing::Case c;
  for (const double bias : {-0.125, -0.5, -1.0}) {
    Layer layer = testing::random_layer(rng, width, width, 6, 0, 1, bias);
    std::vector<float> weights(layer.weights.entries());
    for (float& weight : weights) weight = static_cast<float>(std::exp2(static_cast<int>(rng.below(3)) - 1));
    layer.weights.value = 0.5F;
    layer.weights.values = uniform ? Array<float>() : Array<float>(std::move(weights));
    c.network.layers.push_back(std::move(layer));
  }
  c.images = testing::bit_images(rng, images, width, 0.2);
  if (!values) return c;
  CsrMatrix valued = c.images.to_csr();
  std::vector<float> quarters(valued.entries());
  for (float& value : quarters) value = static_cast<float>(1 + rng.below(7)) / 4.0F;
  valued.values = Array<float>(std::move(quarters));
  c.images = ImageSet{std::move(valued)};
  return c;
}

/// After each layer, and the outcome.
inline testing::Truth trace_of(InspectableEngine& engine, Index depth, const ImageSet& images) {
  engine.load(images);
  testing::Truth trace;
  for (Index layer = 0; layer < depth; ++layer) {
    engine.advance(layer, layer + 1);
    trace.activations.push_back(engine.activations());
  }
  trace.outcome = engine.outcome();
  return trace;
}

}  // namespace spdnn::cuda
