// tail_kernel, run on the CPU and compared with the fp64 reference; sums are exact.

#include "cascade_run.hpp"
#include "support/narrow_network.hpp"
#include "support/sampled.hpp"

namespace spdnn::cuda::cascade {
namespace {

TEST(EmulatedTail, AgreesWithTheReferenceAfterEveryLayer) {
  Index duplicates = 0;
  std::int64_t saturated = 0;
  std::size_t live = 0;
  for (const std::vector<Index>& widths :
       {std::vector<Index>{64, 64, 32, 64, 64}, {40, 33, 64, 7, 31, 50}, {3, 64, 1}}) {
    testing::Rng rng(widths.size());
    const Network network = testing::narrow_network(100, widths, rng);
    for (const Index count : {1U, 130U}) {
      const ImageSet images = make_images(count, 100);
      for (const char* passes :
           testing::sampled({"dead,saturated", "all"}, {"dead", "dead,saturated", "all", "dead,identical"})) {
        const Plan plan = make_plan(network, parse_passes(passes));
        const auto reference = testing::oracle_engine(plan);
        reference->load(images);
        reference->reset();
        for (Index layers = 1; layers <= plan.depth(); ++layers) {
          SCOPED_TRACE(::testing::Message()
                       << widths.size() << " layers, " << count << " images, " << passes << ", after " << layers);
          reference->advance(layers - 1, layers);
          CascadeRun cascade_run(plan, images, Device{kSmall.block_bytes, 2}, {.second = 1U});
          ASSERT_TRUE(cascade_run.has_tail());
          for (int again = 0; again < 2; ++again) {
            cascade_run.run(layers);
            ASSERT_EQ(cascade_run.activations(layers), reference->activations());
          }
          if (layers < plan.depth()) continue;
          const Outcome expected = reference->outcome();
          EXPECT_EQ(cascade_run.categories(), expected.categories);
          EXPECT_EQ(cascade_run.alive(), expected.alive);
          if (!plan.passes.identical) {
            EXPECT_EQ(cascade_run.saturated(), expected.saturated);
          }
          duplicates += cascade_run.duplicates();
          saturated += cascade_run.saturated();
          live += expected.categories.size();
        }
      }
    }
  }
  EXPECT_GT(duplicates, 30U);
  EXPECT_GT(saturated, 30);
  EXPECT_GT(live, 100U);
}

}  // namespace
}  // namespace spdnn::cuda::cascade
