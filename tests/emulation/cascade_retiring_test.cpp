// When the kernels of `cascade` retire images: by every neuron, not before a layer that revives them or takes them off
// the cap, and not by a hash alone. Compared with the fp64 reference as in cascade_test.cpp.

#include <gtest/gtest.h>

#include "cascade_run.hpp"
#include "colliding_rows.hpp"
#include "support/own_inputs.hpp"

namespace spdnn::cuda::cascade {
namespace {

using testing::Rng;

/// Layer 1 adds its bias to sums of 0 as well, so that images with zeros alone after layer 0 live on.
TEST(EmulatedCascade, ImagesAreNotDeadBeforeALayerThatRevivesThem) {
  for (const bool ordered : {false, true}) {
    Rng rng(ordered ? 1 : 2);
    Network network = make_network(96, 96, 4, 3, ordered, rng);
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
        CascadeRun cascade_run(plan, images, kSmall, {.second = 2U});
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
  CascadeRun cascade_run(plan, images, kSmall, {.second = 3U});
  cascade_run.run(plan.depth());
  EXPECT_EQ(cascade_run.activations(plan.depth()), reference->activations());
  EXPECT_EQ(cascade_run.duplicates(), 1U);  // of the row in the hash's slot of the table
}

/// Compares a plan's activations with the reference's after every layer, the second launch beginning with layer
/// `second`.
void check_every_layer(const Plan& plan, const ImageSet& images, Index second) {
  const auto reference = testing::oracle_engine(plan);
  reference->load(images);
  for (Index layers = 1; layers <= plan.depth(); ++layers) {
    reference->advance(layers - 1, layers);
    CascadeRun cascade_run(plan, images, kSmall, {.second = second});
    cascade_run.run(layers);
    EXPECT_EQ(cascade_run.activations(layers), reference->activations()) << layers << " layers";
  }
}

TEST(EmulatedCascade, ImagesAreNotSaturatedBeforeALayerThatTakesThemOffTheCap) {
  const testing::OffTheCap off_the_cap;
  ASSERT_EQ(off_the_cap.plan.certificates.saturated_from, 2U);
  for (const Index second : {2U, 3U}) check_every_layer(off_the_cap.plan, off_the_cap.images, second);
}

TEST(EmulatedCascade, OneNeuronDecidesWhetherAnImageIsDeadOrSaturated) {
  constexpr Index kWidth = 36;
  const Plan plan = make_plan(testing::own_input_network(kWidth, {32, 8, 8}), parse_passes("dead,saturated"));
  ASSERT_FALSE(compile_cascade(plan).pair_table.empty());
  ASSERT_LE(plan.certificates.dead_from, 1U);
  ASSERT_LE(plan.certificates.saturated_from, 1U);

  const ImageSet images = testing::images_lit_by(2 * kWidth, kWidth, [](Index image, Index input) {
    return (input == image / 2) == (image % 2 == 0);  // one input alone, or all but that
  });
  check_every_layer(plan, images, 2);
}

}  // namespace
}  // namespace spdnn::cuda::cascade
