// The networks of the kernel bench: at the end, their activations still distinguish neurons and images and show errors.

#include "bench/varied_network.hpp"

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "support/engines.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

constexpr Index kDigitImages = 24;

struct NetworkKind {
  const char* name;
  bool different;
  bool power_law;
};

class VariedNetworkTest : public ::testing::TestWithParam<NetworkKind> {
 protected:
  static bench::VariedOptions options(Index layers) {
    return {.neurons = 256, .layers = layers, .different = GetParam().different, .power_law = GetParam().power_law};
  }
  ImageSet images_ = generate_digit_images(256, kDigitImages, 1);
};

std::vector<double> activations_by(const char* variant, const Plan& plan, const ImageSet& images) {
  const Variant& found = find_variant(variant);
  const auto engine = testing::engine_for(found, plan, images, {found.precisions.front(), 2});
  engine->load(images);
  testing::run_through(*engine, plan.depth());
  return engine->activations();
}

TEST_P(VariedNetworkTest, StaysVariedToTheEnd) {
  for (const Index layers : {4U, testing::sampled(30U, 240U)}) {
    const Network network = bench::varied_network(options(layers), images_);
    network.validate();
    const Plan plan = make_plan(network, parse_passes("dead"));
    const auto seen = bench::visibility(plan, bench::in_order_activations(plan, images_, bench::Products::fused));
    EXPECT_GT(seen.between, 0.3) << layers;
    EXPECT_GT(seen.distinct_values, 0.3) << layers;
    EXPECT_EQ(seen.distinct_rows, kDigitImages) << layers;
  }
}

TEST_P(VariedNetworkTest, TheCpuEngineIsEqualToTheLastBit) {
  const Network network = bench::varied_network(options(testing::sampled(20U, 60U)), images_);
  const Plan plan = make_plan(network, parse_passes("dead"));
  const auto in_order = bench::in_order_activations(plan, images_, bench::Products::rounded);
  EXPECT_EQ(activations_by("cpu_openmp", plan, images_), in_order);
  EXPECT_LT(bench::worst_difference(in_order, activations_by("cpu_reference", plan, images_)), 1e-2);
}

/// If some edges of a layer read other inputs, some bit of the result changes.
TEST_P(VariedNetworkTest, AnErrorInAnyLayerIsSeen) {
  const Network network = bench::varied_network(options(testing::sampled(20U, 60U)), images_);
  const Plan plan = make_plan(network, parse_passes("dead"));
  const auto right = bench::in_order_activations(plan, images_, bench::Products::fused);
  for (const Index wrong : testing::sampled({1U}, {1U, 30U, 59U})) {
    Plan broken = plan;
    CsrMatrix& weights = broken.layers[wrong].weights;
    std::vector<Index> indices(weights.indices.begin(), weights.indices.end());
    for (Index neuron = 5; neuron < 256; neuron += 50) {
      Index& edge = indices[weights.offsets[neuron]];
      edge = (edge + 1) % 256;
    }
    weights.indices = Array<Index>(std::move(indices));
    EXPECT_NE(bench::in_order_activations(broken, images_, bench::Products::fused), right) << wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, VariedNetworkTest,
                         ::testing::Values(NetworkKind{"uniform", false, false}, NetworkKind{"different", true, false},
                                           NetworkKind{"power_law", false, true}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace spdnn
