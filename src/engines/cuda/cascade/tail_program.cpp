#include "engines/cuda/cascade/tail_program.hpp"

#include <algorithm>
#include <array>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

bool takes(const CascadeLayer& layer) {
  return layer.inputs <= kTailWidth && layer.outputs <= kTailWidth && layer.pairs == 0 && layer.degree == kTailDegree &&
         layer.degrees == CascadeLayer::kUniform && layer.biases == CascadeLayer::kUniform && layer.bias_always;
}

constexpr Index kBanks = 32;

/// Copies for inputs that are read at the same time: a matching of inputs and banks, found by augmenting paths.
class CopiesOfInputs {
 public:
  CopiesOfInputs() { inputs_.fill(kNone); }

  /// Chooses a copy of one more input. If all its banks remain taken, it shares one.
  void add(Index input) {
    if (contains(input)) return;
    std::uint32_t visited = 0;
    if (!place(input, visited)) copies_[input] = 0;
    chosen_ |= std::uint64_t{1} << input;
  }
  Index word(Index input) const { return tail_word(input, copies_[input]); }

 private:
  static constexpr Index kNone = kTailWidth;

  bool contains(Index input) const { return (chosen_ >> input & 1U) != 0; }

  bool place(Index input, std::uint32_t& visited) {
    for (Index copy = 0; copy < kTailCopies; ++copy) {
      const Index bank = tail_word(input, copy) % kBanks;
      if ((visited >> bank & 1U) != 0) continue;
      visited |= 1U << bank;
      if (inputs_[bank] != kNone && !place(inputs_[bank], visited)) continue;
      inputs_[bank] = input;
      copies_[input] = copy;
      return true;
    }
    return false;
  }

  std::array<Index, kBanks> inputs_;  ///< by bank
  std::array<Index, kTailWidth> copies_{};
  std::uint64_t chosen_ = 0;  ///< a bit for each input
};

/// Writes a layer's terms as Tail::terms has them.
void write_tail_terms(const CascadeProgram& program, const CascadeLayer& layer, std::uint8_t* to) {
  const std::uint32_t* chunks = program.terms.data() + 4 * layer.terms;  // of eight terms
  const auto input_of = [&](Index j, Index t) {
    const std::uint32_t pair = chunks[4 * (std::size_t{t / 8} * layer.outputs + j) + t % 8 / 2];
    return t % 2 == 0 ? pair & 0xffffU : pair >> 16U;
  };
  for (Index begin = 0; begin < layer.outputs; begin += 32)
    for (Index t = 0; t < kTailDegree; ++t) {
      const Index end = std::min(begin + 32, layer.outputs);
      CopiesOfInputs copies;
      for (Index j = begin; j < end; ++j) copies.add(input_of(j, t));
      for (Index j = begin; j < end; ++j)
        to[((j / 32 * 2 + t / 16) * 32 + j % 32) * 16 + t % 16] =
            static_cast<std::uint8_t>(copies.word(input_of(j, t)));
    }
}

}  // namespace

std::optional<Tail> find_tail(const CascadeProgram& program, const Plan& plan, Index first) {
  const auto begin = program.layers.begin() + first;
  if (!plan.passes.dead || begin == program.layers.end() || program.layers.size() - first > kMostTailLayers ||
      !std::all_of(begin, program.layers.end(), takes))
    return {};
  Tail tail{.first = first, .layers = std::vector<TailLayer>(program.layers.size() - first), .terms = {}};
  tail.terms.resize(tail.layers.size() * Tail::kLayerBytes);
  parallel_for(tail.layers.size(), [&](std::size_t i) {
    const CascadeLayer& layer = begin[i];
    tail.layers[i] = {.weight = layer.weight, .bias = layer.bias, .outputs = layer.outputs};
    write_tail_terms(program, layer, tail.terms.data() + i * Tail::kLayerBytes);
  });
  return tail;
}

}  // namespace spdnn
