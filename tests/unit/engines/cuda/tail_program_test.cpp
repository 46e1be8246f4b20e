// The plans whose last layers `tail_kernel` runs, and its form of their terms.

#include "engines/cuda/cascade/tail_program.hpp"

#include <gtest/gtest.h>

#include <set>

#include "plan/planner.hpp"
#include "support/narrow_network.hpp"

namespace spdnn {
namespace {

Network network_of(const std::vector<Index>& widths) {
  testing::Rng rng(1);
  return testing::narrow_network(90, widths, rng);
}

std::optional<Tail> tail_of(const Network& network, Index first = 1, const char* passes = "dead") {
  const Plan plan = make_plan(network, parse_passes(passes));
  return find_tail(compile_cascade(plan), plan, first);
}

/// The terms of layer `first + k` of a tail as the words of a row, by neuron.
std::vector<std::uint8_t> words_of(const Tail& tail, Index k, Index neuron) {
  std::vector<std::uint8_t> words;
  for (Index t = 0; t < kTailDegree; ++t)
    words.push_back(tail.terms[k * Tail::kLayerBytes + ((neuron / 32 * 2 + t / 16) * 32 + neuron % 32) * 16 + t % 16]);
  return words;
}

/// The neuron whose copy a word of a row holds.
Index neuron_of(Index word) {
  for (Index neuron = 0; neuron < kTailWidth; ++neuron)
    for (Index copy = 0; copy < kTailCopies; ++copy)
      if (tail_word(neuron, copy) == word) return neuron;
  return kTailWidth;
}

TEST(TailProgram, RowsHaveAWordForEachCopyOfANeuron) {
  std::set<Index> neurons;
  for (Index word = 0; word < kTailCopies * kTailWidth; ++word) neurons.insert(neuron_of(word));
  EXPECT_EQ(neurons.size(), kTailWidth);
  EXPECT_EQ(*neurons.rbegin(), kTailWidth - 1) << "a word without a neuron";
}

TEST(TailProgram, LanesReadInputsFromDifferentBanks) {
  const std::optional<Tail> tail = tail_of(network_of({64, 64, 40}));
  ASSERT_TRUE(tail);
  for (const Index k : {0U, 1U})
    for (Index begin = 0; begin < tail->layers[k].outputs; begin += 32) {
      const Index end = std::min(begin + 32, tail->layers[k].outputs);
      for (Index t = 0; t < kTailDegree; ++t) {
        std::set<Index> words;
        for (Index neuron = begin; neuron < end; ++neuron) words.insert(words_of(*tail, k, neuron)[t]);
        std::set<Index> banks;
        for (const Index word : words) banks.insert(word % 32);
        EXPECT_EQ(banks.size(), words.size()) << "layer " << k << ", from neuron " << begin << ", term " << t;
      }
    }
}

TEST(TailProgram, HasTheTermsInTheirOrder) {
  const Network network = network_of({64, 40, 64, 7});
  const std::optional<Tail> tail = tail_of(network, 2);
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->first, 2U);
  ASSERT_EQ(tail->layers.size(), 2U);
  ASSERT_EQ(tail->terms.size(), 2U * Tail::kLayerBytes);
  for (Index k = 0; k < 2; ++k) {
    const Layer& layer = network.layers[2 + k];
    EXPECT_EQ(tail->layers[k].outputs, layer.outputs());
    EXPECT_EQ(tail->layers[k].weight, 0.25F);
    EXPECT_EQ(tail->layers[k].bias, -2.0F);
    for (Index j = 0; j < layer.outputs(); ++j)
      for (Index t = 0; t < kTailDegree; ++t)
        ASSERT_EQ(neuron_of(words_of(*tail, k, j)[t]), layer.weights.indices[j * kTailDegree + t])
            << "layer " << 2 + k << ", neuron " << j << ", term " << t;
  }
}

TEST(TailProgram, NeedsLayersThatItsKernelTakes) {
  EXPECT_TRUE(tail_of(network_of({64, 64})));
  EXPECT_FALSE(tail_of(network_of({64, 64}), 1, "saturated")) << "images of zeros stay";
  EXPECT_FALSE(tail_of(network_of({64, 65}))) << "too many neurons";
  EXPECT_FALSE(tail_of(network_of({65, 64}))) << "too many inputs";
  EXPECT_FALSE(tail_of(network_of({64, 64}), 2)) << "no layer";
  EXPECT_TRUE(tail_of(network_of(std::vector<Index>(kMostTailLayers + 1, 2))));
  EXPECT_FALSE(tail_of(network_of(std::vector<Index>(kMostTailLayers + 2, 2)))) << "too many layers";

  Network network = network_of({64, 64});
  std::vector<double> biases(64, -2.0);
  biases[3] = -1.0;
  network.layers[1].bias.values = Array<double>(std::move(biases));
  EXPECT_FALSE(tail_of(network)) << "biases by neuron";

  network = network_of({64, 64});
  network.layers[1].bias.uniform = 0.5;
  EXPECT_FALSE(tail_of(network)) << "the bias is not added to sums of 0";

  const auto with_last_layer = [](Index degree, Index step) {
    Network changed = network_of({64});
    MatrixBuilder weights(64);
    for (Index row = 0; row < 64; ++row) {
      for (Index t = 0; t < degree - (row == 63 ? step : 0); ++t) weights.add((row + (t % 2 == 0 ? 0 : t)) % 64);
      weights.end_row();
    }
    changed.layers.push_back({weights.uniform(0.25F), Bias{-2.0, {}}});
    return changed;
  };
  EXPECT_TRUE(tail_of(with_last_layer(32, 0)));
  EXPECT_FALSE(tail_of(with_last_layer(31, 0))) << "fewer terms";
  EXPECT_FALSE(tail_of(with_last_layer(33, 0))) << "more terms";
  EXPECT_FALSE(tail_of(with_last_layer(32, 1))) << "fewer terms of one neuron";

  Network alternating = network_of({64});
  MatrixBuilder weights(64);
  for (Index row = 0; row < 64; ++row) {
    for (Index t = 0; t < 32; ++t) weights.add(t % 2 == 0 ? row : 5);
    weights.end_row();
  }
  alternating.layers.push_back({weights.uniform(0.25F), Bias{-2.0, {}}});
  EXPECT_FALSE(tail_of(alternating)) << "sums of a, b, a, b, ...";
}

}  // namespace
}  // namespace spdnn
