#include "engines/cuda/cascade/front_program.hpp"

#include <algorithm>
#include <bit>

#include "engines/cuda/layers/activation.hpp"

namespace spdnn {

namespace {

/// Whether `pair` holds c and (c + shift) % neurons, in any order.
bool is_shifted(std::pair<Index, Index> pair, Index c, Index shift, Index neurons) {
  const Index other = (c + shift) % neurons;
  return pair == std::pair{std::min(c, other), std::max(c, other)};
}

/// The words that hold the inputs of each class, if those of slice s are words s, s + stride, s + 2 stride, ...;
/// otherwise 0.
Index words_per_class(const CountedLayer& first, Index stride, Index input_count) {
  const Index none = (input_count + 63) / 64 * 2;  // CountedLayer::words
  const Index most = narrow<Index>(first.words.size() / stride);
  Index count = 0;
  while (count < most && first.words[std::size_t{count} * stride] != none) ++count;
  for (Index k = 0; k < most; ++k)
    for (Index slice = 0; slice < stride; ++slice)
      if (first.words[std::size_t{k} * stride + slice] != (k < count ? k * stride + slice : none)) return 0;
  return count <= kMostFrontWords ? count : 0;
}

/// CountedLayer::classes if neuron c has class c and (c + shift) % neurons; otherwise 0.
Index class_shift(const CountedLayer& first, Index neurons) {
  if (first.class_count != neurons || first.classes.slices() * 32 != neurons ||
      first.classes.values.size() != std::size_t{2} * neurons)
    return 0;
  const auto pair_of = [&](Index c) {
    const Index* values = first.classes.values.data() + first.classes.starts[c / 32] + c % 32;
    return std::pair{std::min(values[0], values[32]), std::max(values[0], values[32])};
  };
  const Index shift = pair_of(0).second;
  if (shift >= 32) return 0;
  for (Index c = 0; c < neurons; ++c)
    if (!is_shifted(pair_of(c), c, shift, neurons)) return 0;
  return shift;
}

/// Layer 0 as a front has it, or nothing.
std::optional<Front> begin_front(const CascadeProgram& program, const Plan& plan) {
  const CascadeLayer& layer = program.layers.front();
  const Index neurons = layer.outputs;
  if (!std::has_single_bit(neurons) || neurons < kFrontNarrowest || neurons > kFrontWidest || layer.bias > 0) return {};
  Front front;
  front.neurons = neurons;
  front.layers = 1;
  front.steps.resize(1);
  front.words_per_class = words_per_class(program.first, neurons / 32, layer.inputs);
  front.class_shift = class_shift(program.first, neurons);
  if (front.words_per_class == 0 || front.class_shift == 0) return {};
  const cuda::Activation activation = cuda::activation_of(plan);
  for (const float sum : program.first.sums) front.activations.push_back(activation(sum, layer.bias));
  const auto first = std::find_if(front.activations.begin(), front.activations.end(), [](float y) { return y > 0; });
  if (std::any_of(first, front.activations.end(), [](float y) { return y == 0; })) return {};
  front.threshold = narrow<Index>(first - front.activations.begin());
  return front;
}

/// Layer `number` as a step of a front of `neurons` neurons; empty if it cannot be one.
std::optional<FrontLayer> step_of(const CascadeProgram& program, Index number, Index neurons) {
  const CascadeLayer& layer = program.layers[number];
  if (layer.pairs == 0 || layer.inputs != neurons || layer.outputs > neurons || layer.outputs == 0 ||
      layer.outputs % 32 != 0 || layer.biases != CascadeLayer::kUniform || layer.bias > 0)
    return {};
  const std::uint32_t* terms = program.terms.data() + 4 * layer.terms;
  const Index shift = terms[0] >> 16U;
  if (shift == 0 || shift % 2 != 0) return {};
  for (Index c = 0; c < layer.outputs; ++c)
    if (!is_shifted({terms[c] & 0xffffU, terms[c] >> 16U}, c, shift, neurons)) return {};
  return FrontLayer{.shift = shift, .pairs = layer.pairs, .weight = layer.weight, .bias = layer.bias};
}

}  // namespace

std::optional<Front> find_front(const CascadeProgram& program, const Plan& plan) {
  if (program.pair_table.empty()) return {};
  std::optional<Front> front = begin_front(program, plan);
  if (!front) return {};
  front->outputs = front->neurons;
  while (front->outputs == front->neurons && front->layers + 1 < program.layers.size() &&
         front->layers < kMostFrontLayers) {
    const std::optional<FrontLayer> step = step_of(program, front->layers, front->neurons);
    if (!step) break;
    front->steps.push_back(*step);
    front->outputs = program.layers[front->layers++].outputs;
  }
  if (front->layers < kFewestFrontLayers) return {};
  return front;
}

}  // namespace spdnn
