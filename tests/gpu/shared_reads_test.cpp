// spmm_shared on blocks of 1 to 40 neurons with the same inputs, and weights that are equal or all differ: its results
// equal those of spmm_rows to the last bit.

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"

namespace spdnn::cuda {
namespace {

using testing::Rng;
using testing::Rows;

/// Neurons in blocks that read the same inputs, scattered over the layer; with weights of their own or of one value.
Layer block_layer(Rng& rng, Index neurons, bool different) {
  Rows rows(neurons);
  Index row = 0;
  for (Index size = 1; row < neurons; size = size % 40 + 1) {
    const Index terms = (size * 7) % 70;
    const Rows pattern = testing::random_rows(rng, neurons, 1, terms, 0.05, 0.4);
    for (Index i = 0; i < size && row < neurons; ++i, ++row) {
      auto& mine = rows[row * 61 % neurons];
      mine = pattern.front();
      for (auto& [input, weight] : mine) weight = different ? weight + 0.001F * static_cast<float>(i) : 0.0625F;
    }
  }
  return testing::make_layer(neurons, rows, -0.1);
}

TEST(SharedReadsTest, EveryActivationIsThatOfSpmmRows) {
  constexpr Index kNeurons = 977;  // a prime above 820, the neurons of blocks of 1 to 40
  Rng rng(23);
  for (const bool different : {false, true}) {
    Network network;
    for (int k = 0; k < 3; ++k) network.layers.push_back(block_layer(rng, kNeurons, different));
    for (const Index images : {1U, 130U}) {
      SCOPED_TRACE(std::to_string(images) + " images");
      const ImageSet inputs = testing::bit_images(rng, images, kNeurons, 0.3);
      const Plan plan = make_plan(network, parse_passes("dead"));
      testing::expect_same_bits(*testing::engine_for(find_variant("spmm_shared"), plan, inputs),
                                *testing::engine_for(find_variant("spmm_rows"), plan, inputs), inputs, plan.depth());
    }
  }
}

}  // namespace
}  // namespace spdnn::cuda
