// front_kernel on the CPU, compared with the fp64 reference; sums are exact.

#include "cascade_run.hpp"
#include "support/shifted_network.hpp"

namespace spdnn::cuda::cascade {
namespace {

TEST(EmulatedFront, AgreesWithTheReference) {
  std::int64_t saturated = 0;
  Index duplicates = 0;
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    const Network network = testing::shifted_network(shifts);
    const ImageSet images = testing::images_of_strips(shifts.neurons > 256 ? 14 : 70, shifts.neurons * shifts.words);
    for (const char* passes : {"none", "saturated", "dead,saturated,identical"}) {
      const Plan plan = make_plan(network, parse_passes(passes));
      const auto reference = testing::oracle_engine(plan);
      reference->load(images);
      reference->reset();
      reference->advance(0, plan.depth() - 2);
      CascadeRun cascade_run(plan, images, Device{kLarge.block_bytes, 2});
      ASSERT_TRUE(cascade_run.has_front());
      for (Index layers = plan.depth() - 1; layers <= plan.depth(); ++layers) {
        SCOPED_TRACE(::testing::Message() << shifts.neurons << " neurons, " << passes << ", " << layers << " layers");
        reference->advance(layers - 1, layers);
        cascade_run.run(layers);
        ASSERT_EQ(cascade_run.activations(layers), reference->activations());
      }
      const Outcome expected = reference->outcome();
      EXPECT_EQ(cascade_run.categories(), expected.categories);
      EXPECT_EQ(cascade_run.alive(), expected.alive);
      duplicates += cascade_run.duplicates();
      if (plan.passes.identical) continue;
      EXPECT_EQ(cascade_run.saturated(), expected.saturated);
      saturated += expected.saturated;
    }
  }
  EXPECT_GT(saturated, 20);
  EXPECT_GT(duplicates, 5U);
}

/// A layer after the front adds its bias to sums of 0 as well: images that are all zero live on.
TEST(EmulatedFront, KeepsImagesThatALaterLayerRevives) {
  const testing::Shifts shifts = testing::shifts_of_all_widths()[0];
  Network network = testing::shifted_network(shifts);
  network.bias_rule = BiasRule::everywhere;
  network.layers[4].bias.uniform = 0.5;
  const ImageSet images = testing::images_of_strips(30, shifts.neurons * shifts.words);
  for (const char* passes : {"none", "dead,saturated"}) {
    const Plan plan = make_plan(network, parse_passes(passes));
    const auto reference = testing::oracle_engine(plan);
    reference->load(images);
    testing::run_through(*reference, plan.depth());
    const Outcome expected = reference->outcome();
    EXPECT_LT(expected.alive[3], expected.alive[4]);
    CascadeRun cascade_run(plan, images, Device{kLarge.block_bytes, 1});
    ASSERT_TRUE(cascade_run.has_front());
    cascade_run.run(plan.depth());
    EXPECT_EQ(cascade_run.activations(plan.depth()), reference->activations()) << passes;
    EXPECT_EQ(cascade_run.alive(), expected.alive) << passes;
  }
}

/// Blocks take batches one after another, the last of them with fewer images than the others.
TEST(EmulatedFront, TakesAllImages) {
  const testing::Shifts shifts = testing::shifts_of_all_widths()[0];
  const Plan plan = make_plan(testing::shifted_network(shifts), parse_passes("dead,saturated"));
  for (const Index count : {1U, 3U, 203U}) {
    const ImageSet images = testing::images_of_strips(count, shifts.neurons * shifts.words);
    const auto reference = testing::oracle_engine(plan);
    reference->load(images);
    testing::run_through(*reference, plan.depth());
    CascadeRun cascade_run(plan, images, Device{kLarge.block_bytes, 1});
    cascade_run.run(plan.depth());
    EXPECT_EQ(cascade_run.activations(plan.depth()), reference->activations()) << count << " images";
    EXPECT_EQ(cascade_run.alive(), reference->outcome().alive) << count << " images";
  }
}

}  // namespace
}  // namespace spdnn::cuda::cascade
