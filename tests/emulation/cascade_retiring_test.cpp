// When the kernels of `cascade` retire images: by every neuron, not before a layer that revives them or takes them off
// the cap, and not by a hash alone. Compared with the fp64 reference as in cascade_test.cpp.

#include <gtest/gtest.h>

#include "cascade_run.hpp"
#include "colliding_rows.hpp"

namespace spdnn::cuda::cascade {
namespace {

using testing::Dice;

/// Layer 1 adds its bias to sums of 0 as well: images that layer 0 leaves all zero live on.
TEST(EmulatedCascade, ImagesAreNotDeadBeforeALayerThatRevivesThem) {
  for (const bool ordered : {false, true}) {
    Dice dice(ordered ? 1 : 2);
    Network network = make_network(96, 96, 4, 3, ordered, dice);
    network.bias_rule = BiasRule::everywhere;
    network.layers[0].bias.uniform = -1.5;
    network.layers[1].bias.uniform = 0.5;
    const ImageSet images = make_images(90, 96);
    for (const char* passes : {"dead", "dead,identical"}) {
      const Plan plan = make_plan(network, parse_passes(passes));
      ASSERT_EQ(plan.certificates.dead_from, 2U);
      const auto reference = testing::oracle_engine(plan);
      reference->load(images);
      for (Index layers = 1; layers <= plan.depth(); ++layers) {
        SCOPED_TRACE(::testing::Message() << passes << ", ordered " << ordered << ", " << layers << " layers");
        reference->advance(layers - 1, layers);
        CascadeRun cascade_run(plan, images, {32, 4, 16, 2});
        cascade_run.run(layers);
        ASSERT_EQ(cascade_run.activations(layers), reference->activations());
        if (layers < plan.depth()) continue;
        const Outcome expected = reference->outcome();
        EXPECT_LT(expected.alive[0], expected.alive[1]);
        EXPECT_EQ(cascade_run.categories(), expected.categories);
        EXPECT_EQ(cascade_run.alive(), expected.alive);
      }
    }
  }
}

TEST(EmulatedCascade, EqualHashesAreNotTrusted) {
  const auto [one, other] = CountingNetwork::colliding();
  const Plan plan = make_plan(CountingNetwork::make(6), parse_passes("identical"));
  const ImageSet images = CountingNetwork::images({one, other, one, other});
  const auto reference = testing::oracle_engine(plan);
  reference->load(images);
  testing::run_through(*reference, plan.depth());
  CascadeRun cascade_run(plan, images, {32, 4, 16, 3});
  cascade_run.run(plan.depth());
  EXPECT_EQ(cascade_run.activations(plan.depth()), reference->activations());
  EXPECT_EQ(cascade_run.duplicates(), 1U);  // of the row that the hash's place in the table names
}

/// Every neuron reads one input, or the neuron of its number, so often.
Layer own_input_layer(Index width, Index degree) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index row = 0; row < width; ++row) {
    indices.insert(indices.end(), degree, row);
    offsets.push_back(indices.size());
  }
  Layer layer;
  layer.weights = make_csr(width, width, std::move(offsets), std::move(indices), {});
  layer.weights.value = 0.25F;
  layer.bias.uniform = -0.25;
  return layer;
}

/// Compares a plan's activations with the reference's after every layer.
void check_every_layer(const Plan& plan, const ImageSet& images, const Division& division) {
  const auto reference = testing::oracle_engine(plan);
  reference->load(images);
  for (Index layers = 1; layers <= plan.depth(); ++layers) {
    reference->advance(layers - 1, layers);
    CascadeRun cascade_run(plan, images, division);
    cascade_run.run(layers);
    EXPECT_EQ(cascade_run.activations(layers), reference->activations()) << layers << " layers";
  }
}

/// Layer 0 brings what is lit to the cap, layer 1 takes it off again.
TEST(EmulatedCascade, ImagesAreNotSaturatedBeforeALayerThatTakesThemOffTheCap) {
  constexpr Index kWidth = 36;
  Network network;
  for (const Index degree : {32U, 4U, 8U, 8U}) network.layers.push_back(own_input_layer(kWidth, degree));
  network.cap = 1.5;
  const Plan plan = make_plan(network, parse_passes("dead,saturated"));
  ASSERT_EQ(plan.certificates.saturated_from, 2U);
  testing::Rows rows(2);
  for (Index input = 0; input < kWidth; ++input) rows[0].emplace_back(input, 1.0F);
  rows[1].emplace_back(3, 1.0F);
  const ImageSet images{ImageSet{testing::make_matrix(kWidth, rows, true)}.to_bits()};
  for (const Index second : {2U, 3U}) check_every_layer(plan, images, {32, 4, 16, second});
}

TEST(EmulatedCascade, OneNeuronDecidesWhetherAnImageIsDeadOrSaturated) {
  constexpr Index kWidth = 36;
  Network network;
  for (const Index degree : {32U, 8U, 8U}) network.layers.push_back(own_input_layer(kWidth, degree));
  network.cap = 1.5;
  const Plan plan = make_plan(network, parse_passes("dead,saturated"));
  ASSERT_TRUE(compile_cascade(plan).has_pair_table);
  ASSERT_LE(plan.certificates.dead_from, 1U);
  ASSERT_LE(plan.certificates.saturated_from, 1U);

  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index image = 0; image < 2 * kWidth; ++image) {  // one input alone, or all but that
    for (Index input = 0; input < kWidth; ++input)
      if ((input == image / 2) == (image % 2 == 0)) indices.push_back(input);
    offsets.push_back(indices.size());
  }
  const ImageSet images{ImageSet{make_csr(2 * kWidth, kWidth, std::move(offsets), std::move(indices), {})}.to_bits()};

  check_every_layer(plan, images, {32, 4, 16, 2});
}

}  // namespace
}  // namespace spdnn::cuda::cascade
