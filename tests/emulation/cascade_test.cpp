// The kernels of the `cascade` engine, run on the CPU, so that they are tested on machines without a device, too. They
// are compared with the fp64 reference; sums are exact.

#include "cascade_run.hpp"
#include "support/sampled.hpp"

namespace spdnn::cuda::cascade {
namespace {

using testing::Rng;

/// A device, and where the second launch begins on it.
struct Setting {
  Device device;
  std::optional<Index> second;
};

TEST(EmulatedCascade, AgreesWithTheReferenceAfterEveryLayer) {
  Index duplicates = 0;
  std::size_t live = 0;
  for (const Index width : {37U, 96U}) {
    Rng rng(width);
    const bool ordered = width == 96;
    const Index inputs = ordered ? width : 150;
    const Network network = make_network(inputs, width, 7, 3, ordered, rng);
    const CascadeProgram program = compile_cascade(make_plan(network, {}));
    EXPECT_EQ(program.first.words.empty(), !ordered);
    EXPECT_EQ(program.pair_table.empty(), !ordered);
    for (const Index count : {1U, 6U, 90U, 400U}) {
      const ImageSet images = make_images(count, inputs);
      for (const char* passes : testing::sampled({"all", "identical"}, {"none", "dead", "all", "identical"})) {
        if (count == 90 && !testing::in_full()) continue;
        const Plan plan = make_plan(network, parse_passes(passes));
        const auto reference = testing::oracle_engine(plan);
        reference->load(images);
        for (const auto& [device, second] : {Setting{kLarge, {}}, Setting{kSmall, 3U}, Setting{kSmall, 2U}}) {
          reference->reset();
          // Many images are run in one launch only, except some with all passes.
          const bool by_layer = count < 90 || (count == 90 && std::string_view(passes) == "all");
          for (Index layers = by_layer ? 1 : plan.depth(); layers <= plan.depth(); ++layers) {
            SCOPED_TRACE(::testing::Message() << width << " neurons, " << count << " images, " << passes << ", "
                                              << device.block_bytes << " bytes, " << layers << " layers");
            reference->advance(by_layer ? layers - 1 : 0, layers);
            CascadeRun cascade_run(plan, images, device, {.second = second});
            cascade_run.run(layers);
            ASSERT_EQ(cascade_run.activations(layers), reference->activations());
            if (layers < plan.depth()) continue;
            const Outcome expected = reference->outcome();
            EXPECT_EQ(cascade_run.categories(), expected.categories);
            EXPECT_EQ(cascade_run.alive(), expected.alive);
            duplicates += cascade_run.duplicates();
            live += expected.categories.size();
          }
        }
      }
    }
  }
  EXPECT_GT(duplicates, 100U);
  EXPECT_GT(live, testing::sampled(500U, 1000U));
}

TEST(EmulatedCascade, TheTableRoundsAsTheLayerDoes) {
  Rng rng(5);
  Network network = make_network(96, 96, 4, 3, true, rng);
  for (Layer& layer : network.layers) {
    layer.weights.value = 0.07F;
    layer.bias.uniform = -0.13;
  }
  const Plan plan = make_plan(network, parse_passes("dead"));
  const ImageSet images = make_images(200, 96);
  for (Index layers = 2; layers <= plan.depth(); ++layers) {
    CascadeRun by_table(plan, images, kSmall, {.second = 3U});
    CascadeRun by_sums(plan, images, kSmall, {.second = 3U, .layer_1_by_sums = true});
    by_table.run(layers);
    by_sums.run(layers);
    EXPECT_EQ(by_table.activations(layers), by_sums.activations(layers)) << layers << " layers";
  }
}

}  // namespace
}  // namespace spdnn::cuda::cascade
