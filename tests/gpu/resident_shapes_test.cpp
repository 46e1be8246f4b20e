// Every tile shape of the `resident` engine in fp32 on networks whose sums are of very different lengths, so that their
// layouts are uneven: split rounds, odd half chunks. Sums are exact in fp32: activations must be equal to the last bit.

#include <gtest/gtest.h>

#include "engines/cuda/resident/engine.hpp"
#include "plan/planner.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda {
namespace {

using testing::Rng;

/// Sums are at most 2^16.
Network skewed_network(Index width, bool uniform, bool own_biases, Rng& rng) {
  return testing::skewed_network(rng, width, std::min(width, 2000U), uniform, own_biases);
}

class ResidentShapesTest : public ::testing::TestWithParam<Index> {};

TEST_P(ResidentShapesTest, UnevenSumsAgreeWithTheReferenceAfterEveryLayer) {
  constexpr Index kImages = 75;  // several tiles of every shape, the last not full
  const std::vector<ResidentShape> shapes = resident_shapes();
  const Index width = GetParam();
  for (const bool uniform : {true, false}) {
    Rng rng(width + (uniform ? 1U : 0U));
    const bool own_biases = uniform == (width % 1000 == 0);
    const Plan plan = make_plan(skewed_network(width, uniform, own_biases, rng), parse_passes("dead"));
    const ImageSet images = testing::bit_images(rng, kImages, width, 0.1);
    const auto reference = testing::oracle_engine(plan);
    reference->load(images);
    std::vector<std::vector<double>> expected;
    for (Index k = 0; k < plan.depth(); ++k) {
      reference->advance(k, k + 1);
      expected.push_back(reference->activations());
    }
    std::size_t fitting = 0;
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      if (!fits(plan, shape, {})) continue;
      ++fitting;
      SCOPED_TRACE(std::string(uniform ? "one weight" : "weights") + ", shape " + std::to_string(shape));
      const auto engine =
          testing::inspectable(make_resident(std::make_shared<const Plan>(plan), batch_info(images), {}, shape));
      engine->load(images);
      for (Index k = 0; k < plan.depth(); ++k) {
        engine->advance(k, k + 1);
        ASSERT_EQ(engine->activations(), expected[k]) << "after layer " << k + 1;
      }
      EXPECT_EQ(testing::run_through(*engine, plan.depth()).categories,
                testing::run_through(*reference, plan.depth()).categories);
      EXPECT_EQ(engine->activations(), expected.back());
    }
    EXPECT_GT(fitting, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Width, ResidentShapesTest, ::testing::Values(60, 250, 1000, 2000, 4096, 8000, 16000),
                         ::testing::PrintToStringParamName());

/// Otherwise the test above says nothing of split rounds.
TEST(ResidentShapes, TheTestsNetworksAreUneven) {
  Rng rng(7);
  const Plan plan = make_plan(skewed_network(4096, true, false, rng), parse_passes("dead"));
  const TileShape shape{8, 8, 512, 8};
  const ResidentLayout layout = lay_out(plan, shape, 2 * needed_slots(plan, shape, false), false, true);
  EXPECT_TRUE(std::any_of(layout.rounds.begin(), layout.rounds.end(),
                          [](Index word) { return (word & round_kind::kMask) == round_kind::kSplit; }));
  EXPECT_TRUE(std::any_of(layout.rounds.begin(), layout.rounds.end(), [](Index word) {
    return (word & round_kind::kMask) == round_kind::kWhole && word % 2 != 0;
  }));
}

}  // namespace
}  // namespace spdnn::cuda
