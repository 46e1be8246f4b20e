#include "engines/cuda/cascade/tail_program.hpp"

#include <algorithm>

namespace spdnn {

namespace {

bool takes(const CascadeLayer& layer) {
  return layer.inputs <= kTailWidth && layer.outputs <= kTailWidth && layer.pairs == 0 && layer.degree == kTailDegree &&
         layer.degrees == CascadeLayer::kUniform && layer.biases == CascadeLayer::kUniform && layer.bias_always;
}

/// Appends a layer's terms as Tail::terms has them.
void append_terms(const CascadeProgram& program, const CascadeLayer& layer, std::vector<std::uint8_t>& to) {
  const std::size_t begin = to.size();
  to.resize(begin + Tail::kLayerBytes);
  const std::uint32_t* chunks = program.terms.data() + 4 * layer.terms;  // of eight terms
  for (Index j = 0; j < layer.outputs; ++j)
    for (Index t = 0; t < kTailDegree; ++t) {
      const std::uint32_t pair = chunks[4 * (std::size_t{t / 8} * layer.outputs + j) + t % 8 / 2];
      const Index input = t % 2 == 0 ? pair & 0xffffU : pair >> 16U;
      to[begin + ((j / 32 * 2 + t / 16) * 32 + j % 32) * 16 + t % 16] =
          static_cast<std::uint8_t>(input * sizeof(float));
    }
}

}  // namespace

std::optional<Tail> find_tail(const CascadeProgram& program, const Plan& plan, Index first) {
  const auto begin = program.layers.begin() + first;
  if (!plan.passes.dead || begin == program.layers.end() || program.layers.size() - first > kMostTailLayers ||
      !std::all_of(begin, program.layers.end(), takes))
    return {};
  Tail tail{.first = first, .layers = {}, .terms = {}};
  std::for_each(begin, program.layers.end(), [&](const CascadeLayer& layer) {
    tail.layers.push_back({.weight = layer.weight, .bias = layer.bias, .outputs = layer.outputs});
    append_terms(program, layer, tail.terms);
  });
  return tail;
}

}  // namespace spdnn
