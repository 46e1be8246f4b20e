// When the kernel of `resident` retires images: not before a layer that revives them or takes them off the cap, not by
// a hash alone, and in merged plans only beyond the bounds. Compared with the fp64 reference as in resident_test.cpp.

#include <gtest/gtest.h>

#include "colliding_rows.hpp"
#include "resident_run.hpp"
#include "support/own_inputs.hpp"

namespace spdnn::cuda::resident {
namespace {

using testing::Rng;

TEST(EmulatedResident, EqualHashesAreNotTrusted) {
  Seen seen;
  const auto [one, other] = CountingNetwork::colliding();
  const Plan plan = make_plan(CountingNetwork::make(12), parse_passes("identical"));
  const ImageSet images = CountingNetwork::images({one, other, one, other});
  for (const bool by_layer : {true, false}) {
    check_shape<kFp32Shapes.all[2]>(plan, images, 4, by_layer, seen);
    check_shape<kFp32Shapes.all[7]>(plan, images, 4, by_layer, seen);
  }
  EXPECT_EQ(seen.runs, 6);
  EXPECT_EQ(seen.duplicates, 6U);  // of the row in the hash's slot of the table, in each run
}

/// Layer 1 adds its bias to sums of 0 as well, so that images with zeros alone after layer 0 live on.
TEST(EmulatedResident, ImagesAreNotDeadBeforeALayerThatRevivesThem) {
  Seen seen;
  Rng rng(8);
  Network network = testing::skewed_network(rng, 60, 60, true, false);
  network.bias_rule = BiasRule::everywhere;
  network.layers[0].bias.uniform = -2;
  network.layers[1].bias.uniform = 0.25;
  const Plan plan = make_plan(network, parse_passes("dead"));
  ASSERT_EQ(plan.certificates.dead_from, 2U);
  const ImageSet images = testing::bit_images(rng, 40, 60, 0.1);
  for (const bool by_layer : {true, false}) {
    check_shape<kFp32Shapes.all[0]>(plan, images, 3, by_layer, seen);
    check_shape<kFp32Shapes.all[6]>(plan, images, 3, by_layer, seen);
  }
  EXPECT_GE(seen.runs, 4);
}

TEST(EmulatedResident, ImagesAreNotSaturatedBeforeALayerThatTakesThemOffTheCap) {
  Seen seen;
  const testing::OffTheCap off_the_cap;
  ASSERT_EQ(off_the_cap.plan.certificates.saturated_from, 2U);
  check_shape<kFp32Shapes.all[0]>(off_the_cap.plan, off_the_cap.images, 1, true, seen);
  check_shape<kFp32Shapes.all[6]>(off_the_cap.plan, off_the_cap.images, 1, true, seen);
  EXPECT_GE(seen.runs, 2);
}

/// A neuron that reads all others, most of them twice, is summed by several threads. It alone keeps the first image
/// from the cap after layer 1.
TEST(EmulatedResident, ALongSumBelowTheCapKeepsAnImageFromBeingSaturated) {
  constexpr Index kWidth = 60;
  Seen seen;
  testing::Rows handing_on(kWidth);
  testing::Rows from_first(kWidth);
  for (Index j = 0; j < kWidth; ++j) {
    handing_on[j].emplace_back(j, 4.0F);
    from_first[j].emplace_back(0, 4.0F);
  }
  from_first[11].clear();
  for (Index i = 1; i < 2 * kWidth; ++i)
    if (i % kWidth != 0) from_first[11].emplace_back(i % kWidth, 4.0F);
  Network network;
  for (const auto& rows : {handing_on, from_first, handing_on})
    network.layers.push_back(testing::make_layer(kWidth, rows, -0.25, true));
  network.cap = 2.0;
  const Plan plan = make_plan(network, parse_passes("dead,saturated"));
  ASSERT_EQ(plan.certificates.saturated_from, 0U);
  const ImageSet images{
      ImageSet{testing::make_matrix(kWidth, {{{0, 1.0F}}, {{0, 1.0F}, {30, 1.0F}}, {{30, 1.0F}}}, true)}.to_bits()};
  for (const bool by_layer : {true, false}) {
    check_shape<kFp32Shapes.all[3]>(plan, images, 3, by_layer, seen);
    check_shape<kFp32Shapes.all[5]>(plan, images, 3, by_layer, seen);
    check_shape<kFp32Shapes.all[7]>(plan, images, 3, by_layer, seen);
  }
  EXPECT_GT(seen.uneven, 4);
}

/// The end of an image under the bounds of a merged plan.
enum class End { dead, saturated, borderline };

/// The rule of Plan::error_bounds, word by word. Sums are exact.
End end_of(const Plan& plan, std::vector<double> y) {
  for (Index k = 0; k < plan.depth(); ++k) {
    const CsrMatrix& weights = plan.layers[k].weights;
    std::vector<double> sums(weights.rows, plan.layers[k].bias.uniform);
    for (Index j = 0; j < weights.rows; ++j)
      for (Offset i = weights.offsets[j]; i < weights.offsets[j + 1]; ++i)
        sums[j] += y[weights.indices[i]] * weights.entry_value(i);
    const auto [lowest, highest] = std::minmax_element(sums.begin(), sums.end());
    if (*highest <= -plan.fallback->error_bounds[k]) return End::dead;
    if (*lowest >= *plan.cap + plan.fallback->error_bounds[k]) return End::saturated;
    y.clear();
    for (const double sum : sums) y.push_back(std::clamp(sum, 0.0, *plan.cap));
  }
  return End::borderline;
}

/// Runs a merged plan; returns the number of images by end.
template <class C>
std::array<std::size_t, 3> check_ends(const Plan& plan, const ImageSet& images) {
  std::array<std::vector<Index>, 3> expected;
  const CsrMatrix rows = images.to_csr();
  for (Index image = 0; image < rows.rows; ++image) {
    std::vector<double> pixels(rows.cols);
    for (const Index lit : rows.row(image)) pixels[lit] = 1;
    expected[static_cast<std::size_t>(end_of(plan, pixels))].push_back(image);
  }
  EXPECT_TRUE(Run<C>::takes(plan));
  Run<C> run(plan, images, 3);
  run.advance(0, plan.depth());
  EXPECT_EQ(run.categories(), expected[static_cast<std::size_t>(End::saturated)]);
  EXPECT_EQ(run.borderline(), expected[static_cast<std::size_t>(End::borderline)]);
  return {expected[0].size(), expected[1].size(), expected[2].size()};
}

/// Each neuron reads eight of a few others, some more than once; a row of ones stays one.
Plan merged_plan(Rng& rng, Index width, Index depth, double bound) {
  Network network;
  for (Index k = 0; k < depth; ++k) {
    testing::Rows rows(width);
    for (auto& row : rows)
      for (int term = 0; term < 8; ++term) row.emplace_back(rng.below(width), 0.25F);
    network.layers.push_back(testing::make_layer(width, rows, -0.25, true));
  }
  network.cap = 1.0;
  Plan plan = make_plan(network, parse_passes("twins,merge,dead,saturated"));
  EXPECT_TRUE(plan.passes.merge && plan.passes.saturated && plan.passes.dead);
  plan.fallback->error_bounds.assign(depth, bound);
  return plan;
}

TEST(EmulatedResident, MergedPlansSettleImagesOnlyBeyondTheirBounds) {
  constexpr Index kWidth = 40;
  Rng rng(21);
  std::array<std::size_t, 3> seen{};
  for (const Index depth : {1U, 2U, 4U}) {
    for (const double bound : {0.12, 0.37}) {  // between the sums, as kernels round bounds up
      SCOPED_TRACE(::testing::Message() << depth << " layers, bound " << bound);
      const Plan plan = merged_plan(rng, kWidth, depth, bound);
      const ImageSet images = testing::bit_images(rng, 90, kWidth, 0.4);
      const auto ends = check_ends<Config<kFp32Shapes.all[0], LayoutKind{.values = true}>>(plan, images);
      for (std::size_t i = 0; i < 3; ++i) seen[i] += ends[i];
    }
  }
  for (const std::size_t images : seen) EXPECT_GT(images, 50U);
}

}  // namespace
}  // namespace spdnn::cuda::resident
