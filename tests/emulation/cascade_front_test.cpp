// front_kernel on the CPU, compared with the fp64 reference; sums are exact.

#include "cascade_run.hpp"
#include "support/sampled.hpp"
#include "support/shifted_network.hpp"

namespace spdnn::cuda::cascade {
namespace {

TEST(EmulatedFront, AgreesWithTheReference) {
  std::int64_t saturated = 0;
  Index duplicates = 0;
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    const Network network = testing::shifted_network(shifts);
    const ImageSet images = testing::images_of_strips(shifts.neurons > 256 ? 40 : 400, shifts.neurons * shifts.words);
    for (const char* passes :
         testing::sampled({"dead,saturated", "dead,saturated,identical"},
                          {"none", "saturated", "dead", "dead,saturated", "dead,saturated,identical"})) {
      const Plan plan = make_plan(network, parse_passes(passes));
      const auto reference = testing::oracle_engine(plan);
      reference->load(images);
      reference->reset();
      reference->advance(0, plan.depth() - 2);
      CascadeRun cascade_run(plan, images, Device{kLarge.block_bytes, 2});
      ASSERT_TRUE(cascade_run.has_front());
      EXPECT_EQ(cascade_run.has_filter(), plan.passes.dead && testing::powers_of_two(shifts));
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

/// Sums that round, and numbers that are not multiples of a small fraction: images that the filter drops must have the
/// same result, and die in the same layer, as without it.
TEST(EmulatedFront, FiltersOnlyImagesThatDie) {
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    if (!testing::powers_of_two(shifts)) continue;
    Network network = testing::shifted_network(shifts);
    for (std::size_t k = 1; k < network.layers.size(); ++k) {
      network.layers[k].weights.value = k % 2 == 0 ? 0.2503F : 0.2499F;
      network.layers[k].bias.uniform *= 0.9876;
    }
    const Plan plan = make_plan(network, parse_passes("dead,saturated"));
    const ImageSet images = testing::images_of_strips(shifts.neurons > 256 ? 50 : 300, shifts.neurons * shifts.words);
    CascadeRun with(plan, images, Device{kLarge.block_bytes, 1});
    CascadeRun without(plan, images, Device{kLarge.block_bytes, 1}, {.without_filter = true});
    ASSERT_TRUE(with.has_filter() && !without.has_filter());
    with.run(plan.depth() - 1);
    without.run(plan.depth() - 1);
    EXPECT_EQ(with.activations(plan.depth() - 1), without.activations(plan.depth() - 1)) << shifts.neurons;
    EXPECT_EQ(with.alive(), without.alive()) << shifts.neurons;
    EXPECT_EQ(with.saturated(), without.saturated()) << shifts.neurons;
  }
}

/// One image for each octet of classes, with all inputs of the octet lit.
ImageSet images_of_octets(const testing::Shifts& shifts) {
  MatrixBuilder lit(shifts.neurons * shifts.words);
  for (Index first = 0; first < shifts.neurons; first += std::max(8U, shifts.neurons / 16)) {
    for (Index k = 0; k < shifts.words; ++k)
      for (Index c = first; c < first + 8; ++c) lit.add(k * shifts.neurons + c);
    lit.end_row();
  }
  return ImageSet{ImageSet{lit.uniform()}.to_bits()};
}

/// Sums that are not exact depend on the order of their terms, and neurons at the end read the first ones.
TEST(EmulatedFront, RoundsAndWrapsAroundAsTheKernelsThatItReplaces) {
  for (const testing::Shifts& shifts : testing::shifts_of_all_widths()) {
    Network network = testing::shifted_network(shifts);
    for (Layer& layer : network.layers) {
      layer.weights.value = 0.37F;
      layer.bias.uniform *= 0.6;
    }
    const Plan plan = make_plan(network, parse_passes("dead"));
    for (const ImageSet& images :
         {images_of_octets(shifts), testing::images_of_strips(14, shifts.neurons * shifts.words)}) {
      CascadeRun with(plan, images, Device{kLarge.block_bytes, 1});
      CascadeRun without(plan, images, Device{kLarge.block_bytes, 1}, {.without_front = true});
      ASSERT_TRUE(with.has_front() && !without.has_front());
      with.run(plan.depth() - 1);
      without.run(plan.depth() - 1);
      EXPECT_EQ(with.activations(plan.depth() - 1), without.activations(plan.depth() - 1)) << shifts.neurons;
      EXPECT_EQ(with.alive(), without.alive()) << shifts.neurons;
    }
  }
}

/// Images whose first classes are lit in all words, and whose other classes in some.
ImageSet images_of_two_densities(const testing::Shifts& shifts) {
  MatrixBuilder lit(shifts.neurons * shifts.words);
  for (Index eighths = 1; eighths < 8; ++eighths)
    for (const Index others : {(shifts.words + 7) / 8, shifts.words * 3 / 4}) {
      for (Index k = 0; k < shifts.words; ++k)
        for (Index c = 0; c < shifts.neurons; ++c)
          if (k < others || c < eighths * shifts.neurons / 8) lit.add(k * shifts.neurons + c);
      lit.end_row();
    }
  return ImageSet{ImageSet{lit.uniform()}.to_bits()};
}

/// Where all activations are above 0, one below the cap keeps an image from being saturated, wherever it is.
TEST(EmulatedFront, LooksForValuesBelowTheCapInAllWords) {
  for (const std::size_t width : {0U, 6U}) {
    const testing::Shifts shifts = testing::shifts_of_all_widths()[width];
    const Plan plan = make_plan(testing::shifted_network(shifts), parse_passes("saturated"));
    const ImageSet images = images_of_two_densities(shifts);
    const auto reference = testing::oracle_engine(plan);
    reference->load(images);
    testing::run_through(*reference, plan.depth());
    CascadeRun cascade_run(plan, images, Device{kLarge.block_bytes, 1});
    cascade_run.run(plan.depth());
    EXPECT_EQ(cascade_run.saturated(), reference->outcome().saturated) << shifts.neurons << " neurons";
    EXPECT_EQ(cascade_run.activations(plan.depth()), reference->activations()) << shifts.neurons << " neurons";
  }
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

/// Blocks take batches one after another, the last of them with fewer images than the others: all from their share, or
/// the last ones from those that are left to all blocks.
TEST(EmulatedFront, TakesAllImages) {
  const testing::Shifts shifts = testing::shifts_of_all_widths()[0];
  const Plan plan = make_plan(testing::shifted_network(shifts), parse_passes("dead,saturated"));
  for (const Index count : {1U, 3U, 203U, 1801U}) {
    const ImageSet images = testing::images_of_strips(count, shifts.neurons * shifts.words);
    const auto reference = testing::oracle_engine(plan);
    reference->load(images);
    testing::run_through(*reference, plan.depth());
    for (const bool without_filter : {false, true}) {
      CascadeRun cascade_run(plan, images, Device{kLarge.block_bytes, 2}, {.without_filter = without_filter});
      cascade_run.run(plan.depth());
      EXPECT_EQ(cascade_run.activations(plan.depth()), reference->activations()) << count << " images";
      EXPECT_EQ(cascade_run.alive(), reference->outcome().alive) << count << " images";
    }
  }
}

/// A block lists what it keeps in shared memory, as long as there is room.
TEST(EmulatedFront, KeepsMoreImagesThanABlockHasRoomFor) {
  const testing::Shifts shifts = testing::shifts_of_all_widths()[0];
  const Plan plan = make_plan(testing::shifted_network(shifts), parse_passes("dead"));
  MatrixBuilder lit(shifts.neurons * shifts.words);
  const Index count = FilterSize<FrontShape<6>>::kBlocks * (kMostKept + 40);
  for (Index image = 0; image < count; ++image) {
    for (Index input = 0; input < shifts.neurons * shifts.words; ++input) lit.add(input);
    lit.end_row();
  }
  CascadeRun cascade_run(plan, ImageSet{ImageSet{lit.uniform()}.to_bits()}, Device{kLarge.block_bytes, 1});
  ASSERT_TRUE(cascade_run.has_filter());
  cascade_run.run(plan.depth());
  EXPECT_EQ(cascade_run.alive().front(), count);
  EXPECT_EQ(cascade_run.alive().back(), count);
}

}  // namespace
}  // namespace spdnn::cuda::cascade
