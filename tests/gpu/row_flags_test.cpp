// Rows of activations on the device: the results and flags of activate(), and the rows that retire by these flags.
// Flags also mark sums that are not finite, and images that `merge` knows only up to a bound.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "engines/cuda/retire/active_rows.hpp"
#include "engines/cuda/retire/row_kernels.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "gpu/transfers.hpp"
#include "support/networks.hpp"

namespace spdnn::cuda {
namespace {

constexpr std::uint32_t kUnsure = kMayLive | kMayMiss;
constexpr std::uint32_t kAlive = kLives | kUnsure;
constexpr std::uint32_t kFull = kLives | kMayLive;

/// Layers of four neurons.
Plan plan_of(Index depth) {
  testing::Rng rng(depth);
  Network network;
  for (Index k = 0; k < depth; ++k) network.layers.push_back(testing::random_layer(rng, 4, 4, 2, 0, 1, -0.25));
  network.cap = 32.0;
  return testing::unreduced_plan(network);
}

/// Gives the rows the flags that the last of `layers_done` layers leaves, and retires by them.
void retire_by(const std::vector<std::uint32_t>& flags, Index layers_done, ActiveRows& rows, const Stream& stream) {
  check(cudaStreamSynchronize(stream));
  upload(rows.flags(), flags);
  rows.retire(layers_done);
}

TEST(RowKernelsTest, ActivationFollowsTheRuleAndFlagsSayWhatIsThere) {
  const Stream stream = stream_on(EngineOptions{});
  // Rows: nothing, one positive, all at the cap, negative only.
  const std::vector<float> z{0, 0, 0, 0, 1, 0, 40, 50, 32.5F, -1, 0.25F, 0};
  DeviceBuffer<float> buffer(z.size(), stream);
  DeviceBuffer<std::uint32_t> flags(4, stream);
  DeviceLayer layer;
  layer.outputs = 3;
  layer.bias = -0.5F;
  check(cudaStreamSynchronize(stream));
  upload(buffer.data(), z);
  activate(Layout::by_image, buffer.data(), buffer.data(), 4, layer, {.cap = 32.0F, .everywhere = false}, 0.0F,
           flags.data(), stream);
  EXPECT_EQ(download(buffer.data(), z.size()), (std::vector<float>{0, 0, 0, 0, 0.5F, 0, 32, 32, 32, 0, 0, 0}));
  EXPECT_EQ(download(flags.data(), 4),
            (std::vector<std::uint32_t>{kMayMiss, kLives | kMayLive | kMayMiss, kLives | kMayLive, kMayMiss}));
  // With an error bound of 1, what is within 1 of a decision stays open.
  upload(buffer.data(), z);
  activate(Layout::by_image, buffer.data(), buffer.data(), 4, layer, {.cap = 32.0F, .everywhere = false}, 1.0F,
           flags.data(), stream);
  EXPECT_EQ(download(flags.data(), 4), (std::vector<std::uint32_t>{kMayLive | kMayMiss, kMayLive | kMayMiss,
                                                                   kLives | kMayLive | kMayMiss, kMayLive | kMayMiss}));
}

TEST(RowKernelsTest, BothLayoutsAgree) {
  const Stream stream = stream_on(EngineOptions{});
  constexpr Index kImages = 301;
  constexpr Index kNeurons = 67;
  std::mt19937 random(5);
  std::vector<float> rows(std::size_t{kImages} * kNeurons);
  for (float& value : rows) value = static_cast<float>(random() % 4) - 2.0F;
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < kImages; ++i)
    for (std::size_t j = 0; j < kNeurons; ++j) columns[j * kImages + i] = rows[i * kNeurons + j];
  DeviceBuffer<float> a(rows.size(), stream);
  DeviceBuffer<float> b(rows.size(), stream);
  DeviceBuffer<float> gathered(rows.size(), stream);
  DeviceBuffer<std::uint32_t> flags_a(kImages, stream);
  DeviceBuffer<std::uint32_t> flags_b(kImages, stream);
  DeviceBuffer<Index> kept(kImages, stream);
  check(cudaStreamSynchronize(stream));
  upload(a.data(), rows);
  upload(b.data(), columns);
  std::vector<Index> chosen;
  for (Index image = 0; image < kImages; image += 3) chosen.push_back(image);
  upload(kept.data(), chosen);
  DeviceLayer layer;
  layer.outputs = kNeurons;
  layer.bias = 0.25F;
  const Activation activation{.cap = 1.0F, .everywhere = true};
  activate(Layout::by_image, a.data(), a.data(), kImages, layer, activation, 0.0F, flags_a.data(), stream);
  activate(Layout::by_neuron, b.data(), b.data(), kImages, layer, activation, 0.0F, flags_b.data(), stream);
  EXPECT_EQ(download(flags_a.data(), kImages), download(flags_b.data(), kImages));
  const auto count = static_cast<Index>(chosen.size());
  gather_images(Layout::by_image, a.data(), kImages, kept.data(), count, kNeurons, gathered.data(), stream);
  const auto by_image = download(gathered.data(), std::size_t{count} * kNeurons);
  gather_images(Layout::by_neuron, b.data(), kImages, kept.data(), count, kNeurons, gathered.data(), stream);
  const auto by_neuron = download(gathered.data(), std::size_t{count} * kNeurons);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < kNeurons; ++j) {
      const float z = rows[chosen[i] * std::size_t{kNeurons} + j] + 0.25F;
      ASSERT_EQ(by_image[i * kNeurons + j], std::min(1.0F, std::max(0.0F, z)));
      ASSERT_EQ(by_image[i * kNeurons + j], by_neuron[j * count + i]);
    }
}

TEST(ActiveRowsTest, SettledRowsLeaveOnceAndAreCounted) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(3);
  plan.passes.dead = plan.passes.saturated = true;
  plan.certificates.saturated_from = 2;
  ActiveRows rows(plan, false, stream);
  rows.load(6);
  for (int trial = 0; trial < 2; ++trial) {
    rows.reset();
    retire_by({kAlive, kMayMiss, kAlive, kAlive, kAlive, kAlive}, 0, rows, stream);  // image 1 is empty
    EXPECT_EQ(rows.kept_rows(), 5U);
    // Image 2 dies; 3 is full, too early.
    retire_by({kAlive, kMayMiss, kMayMiss, kFull, kAlive, kAlive}, 1, rows, stream);
    EXPECT_EQ(rows.kept_rows(), 4U);
    rows.compact(4);
    EXPECT_EQ(rows.image_of_rows(), (std::vector<Index>{0, 3, 4, 5}));
    retire_by({kAlive, kFull, kAlive, kMayMiss}, 2, rows, stream);  // image 3 is retired, 5 dies
    EXPECT_EQ(rows.kept_rows(), 2U);
    // Not compacted: rows of 3 and 5 are not counted again; 4 dies.
    retire_by({kAlive, kFull, kMayMiss, kMayMiss}, 3, rows, stream);
    const Outcome outcome = rows.outcome();
    EXPECT_EQ(outcome.categories, (Categories{0, 3}));
    EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{4, 3, 2}));
    EXPECT_EQ(outcome.saturated, 1);
    const auto all = rows.fill_retired(2, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(all, (std::vector<double>{1, 2, 0, 0, 0, 0, 32, 32, 0, 0, 0, 0}));
  }
}

TEST(ActiveRowsTest, RowsMoveTogetherIfASavedTileRepaysIt) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(1);
  plan.passes.dead = true;
  ActiveRows rows(plan, false, stream);
  rows.load(33, 64);
  rows.reset();
  std::vector<std::uint32_t> flags(33, kAlive);
  flags[7] = kMayMiss;
  retire_by(flags, 1, rows, stream);
  EXPECT_EQ(rows.rows_worth_moving(), std::nullopt);
  EXPECT_EQ(rows.rows_worth_moving({32, 4}), std::nullopt);
  EXPECT_EQ(rows.rows_worth_moving({32, 5}), 32U);
  rows.compact(32);
  ASSERT_EQ(rows.image_of_rows().size(), 32U);
  EXPECT_EQ(rows.image_of_rows()[7], 8U);
}

TEST(ActiveRowsTest, FlagsMoveWithTheirRows) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(1);
  plan.passes.dead = true;
  ActiveRows rows(plan, false, stream);
  rows.load(4);
  rows.reset();
  retire_by({kMayMiss, kMayMiss, kAlive, kAlive}, 1, rows, stream);
  rows.compact(rows.kept_rows());
  EXPECT_EQ(rows.outcome().categories, (Categories{2, 3}));
}

TEST(RowFlagsTest, SumsThatAreNotFiniteAreFlaggedWhereTheyAreWatched) {
  const Stream stream = stream_on(EngineOptions{});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Images in both layouts alike: 1, 2, ..., each of one neuron.
  const std::vector<float> z{0, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 3e38F, -3e38F};
  const std::vector<bool> overflows{false, true, true, true, false, true};  // with the bias
  DeviceBuffer<float> buffer(z.size(), stream);
  DeviceBuffer<std::uint32_t> flags(z.size(), stream);
  DeviceLayer layer;
  layer.outputs = 1;
  layer.bias = -1e38F;
  for (const Layout layout : {Layout::by_image, Layout::by_neuron}) {
    for (const bool watched : {false, true}) {
      check(cudaStreamSynchronize(stream));
      upload(buffer.data(), z);
      activate(layout, buffer.data(), buffer.data(), 6, layer, {.cap = 32.0F, .everywhere = false, .watched = watched},
               0.0F, flags.data(), stream);
      const std::vector<std::uint32_t> found = download(flags.data(), z.size());
      for (std::size_t image = 0; image < z.size(); ++image)
        EXPECT_EQ((found[image] & kOverflowed) != 0, watched && overflows[image]) << z[image];
    }
  }
}

/// Five images of a merged plan: surely alive; unsure and then alive; unsure and then dead; unsure to the end; dead.
TEST(RowFlagsTest, WithMergeImagesThatAreRunAgainAreNotCounted) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(3);
  plan.passes.merge = true;  // dead images leave whether or not `dead` is on: otherwise nobody could count them
  ActiveRows rows(plan, false, stream);
  rows.load(5);
  for (int trial = 0; trial < 2; ++trial) {
    rows.reset();
    retire_by({kAlive, kAlive, kAlive, kAlive, kAlive}, 0, rows, stream);
    retire_by({kAlive, kUnsure, kUnsure, kUnsure, kAlive}, 1, rows, stream);
    retire_by({kAlive, kAlive, kMayMiss, kUnsure, kMayMiss}, 2, rows, stream);
    retire_by({kAlive, kAlive, kMayMiss, kUnsure, kMayMiss}, 3, rows, stream);
    const Outcome outcome = rows.outcome();
    EXPECT_EQ(outcome.categories, Categories{});
    EXPECT_EQ(outcome.borderline, (std::vector<Index>{0, 1, 2, 3}));  // those that end alive too
    EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{1, 0, 0}));
  }
}

TEST(RowFlagsTest, OverflowIsNotedOnceAndBarsCopies) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(5);
  plan.passes.identical = true;
  ActiveRows rows(plan, true, stream);
  rows.load(4);
  for (int trial = 0; trial < 2; ++trial) {
    rows.reset();
    constexpr std::uint32_t kOver = kAlive | kOverflowed;
    retire_by({kAlive, kOver, kAlive, kAlive}, 2, rows, stream);
    retire_by({kAlive, kOver, kAlive, kAlive}, 3, rows, stream);
    retire_by({kAlive, kAlive, kAlive, kAlive}, 4, rows, stream);
    check(cudaStreamSynchronize(stream));
    upload(rows.identical().hashes(), std::vector<std::uint64_t>{7, 7, 7, 8});  // of three equal rows
    rows.find_duplicates();
    rows.retire_duplicates();
    EXPECT_EQ(rows.kept_rows(), 3U) << "image 2 is image 0's copy; image 1 has overflowed";
    retire_by({kOver, kAlive, kAlive, kAlive}, 5, rows, stream);
    EXPECT_EQ(rows.outcome().overflow, (std::vector<Overflow>{{0, 4}, {1, 1}, {2, 4}}));
  }
}

}  // namespace
}  // namespace spdnn::cuda
