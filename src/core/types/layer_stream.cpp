#include "core/types/layer_stream.hpp"

#include <algorithm>

#include "core/threads/parallel_rows.hpp"

namespace spdnn {

namespace {

std::size_t offset_bytes(const LayerShape& shape) { return (std::size_t{shape.outputs} + 1) * sizeof(Offset); }

}  // namespace

std::size_t LayerShape::bytes() const {
  return offset_bytes(*this) + edges * (sizeof(Index) + (weight ? 0 : sizeof(float))) +
         (bias ? 0 : std::size_t{outputs} * sizeof(double));
}

LayerShape shape_of(const Layer& layer) {
  const CsrMatrix& weights = layer.weights;
  return {.inputs = layer.inputs(),
          .outputs = layer.outputs(),
          .edges = weights.entries(),
          .weight = weights.uniform() ? std::optional(weights.value) : std::nullopt,
          .bias = layer.bias.values.empty() ? std::optional(layer.bias.uniform) : std::nullopt,
          .degree = std::nullopt};
}

std::size_t LayerStream::largest_layer_bytes() const {
  std::size_t largest = 0;
  for (const LayerShape& shape : shapes_) largest = std::max(largest, shape.bytes());
  return largest;
}

std::vector<Layer> LayerStream::read_some(Index first, Index count) const {
  std::vector<Layer> layers(count);
  for_layers(count, [&](std::size_t i) { layers[i] = read(first + static_cast<Index>(i)); });
  return layers;
}

Offset NetworkStream::edges() const {
  Offset sum = 0;
  for (const LayerShape& shape : layers->shapes()) sum += shape.edges;
  return sum;
}

/// Layers of equal shape share the offsets of rows of equal length.
std::size_t NetworkStream::bytes() const {
  std::size_t sum = 0;
  const LayerShape* before = nullptr;
  for (const LayerShape& shape : layers->shapes()) {
    const bool shared =
        before != nullptr && shape.degree && shape.degree == before->degree && shape.outputs == before->outputs;
    sum += shape.bytes() - (shared ? offset_bytes(shape) : 0);
    before = &shape;
  }
  return sum;
}

}  // namespace spdnn
