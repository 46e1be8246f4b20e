// What engines on the device are told by the flags of rows: sums that are not finite, images that `merge` knows only up
// to a bound.

#include <limits>

#include "engines/cuda/retire/active_rows.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "gpu/on_device.hpp"
#include "gpu/transfers.hpp"
#include "support/networks.hpp"

namespace spdnn::cuda {
namespace {

using RowFlagsTest = OnDevice;

Plan plan_of(Index depth) {
  testing::Dice dice(depth);
  Network network;
  for (Index k = 0; k < depth; ++k) network.layers.push_back(testing::random_layer(dice, 4, 4, 2, 0, 1, -0.25));
  return testing::unreduced_plan(network);
}

TEST_F(RowFlagsTest, SumsThatAreNotFiniteAreFlaggedWhereTheyAreWatched) {
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
TEST_F(RowFlagsTest, WithMergeImagesThatAreRunAgainAreNotCounted) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(3);
  plan.passes.merge = true;  // dead images leave whether or not `dead` is on: otherwise nobody could count them
  ActiveRows rows(plan, false, stream);
  rows.load(5);
  for (int trial = 0; trial < 2; ++trial) {
    rows.reset();
    constexpr std::uint32_t kUnsure = kMayLive | kMayMiss;
    constexpr std::uint32_t kAlive = kLives | kUnsure;
    const auto retire = [&](Index layers_done, const std::vector<std::uint32_t>& flags) {
      check(cudaStreamSynchronize(stream));
      upload(rows.flags(), flags);
      rows.retire(layers_done);
    };
    retire(0, {kAlive, kAlive, kAlive, kAlive, kAlive});
    retire(1, {kAlive, kUnsure, kUnsure, kUnsure, kAlive});
    retire(2, {kAlive, kAlive, kMayMiss, kUnsure, kMayMiss});
    retire(3, {kAlive, kAlive, kMayMiss, kUnsure, kMayMiss});
    const Outcome outcome = rows.outcome();
    EXPECT_EQ(outcome.categories, Categories{});
    EXPECT_EQ(outcome.borderline, (std::vector<Index>{0, 1, 2, 3}));  // those that end alive too
    EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{1, 0, 0}));
  }
}

TEST_F(RowFlagsTest, OverflowIsNotedOnceAndBarsCopies) {
  const Stream stream = stream_on(EngineOptions{});
  Plan plan = plan_of(5);
  plan.passes.identical = true;
  ActiveRows rows(plan, true, stream);
  rows.load(4);
  for (int trial = 0; trial < 2; ++trial) {
    rows.reset();
    constexpr std::uint32_t kAlive = kLives | kMayLive | kMayMiss;
    constexpr std::uint32_t kOver = kAlive | kOverflowed;
    const auto retire = [&](Index layers_done, const std::vector<std::uint32_t>& flags) {
      check(cudaStreamSynchronize(stream));
      upload(rows.flags(), flags);
      rows.retire(layers_done);
    };
    retire(2, {kAlive, kOver, kAlive, kAlive});
    retire(3, {kAlive, kOver, kAlive, kAlive});
    retire(4, {kAlive, kAlive, kAlive, kAlive});
    check(cudaStreamSynchronize(stream));
    upload(rows.identical().hashes(), std::vector<std::uint64_t>{7, 7, 7, 8});  // of three equal rows
    rows.find_duplicates();
    rows.retire_duplicates();
    EXPECT_EQ(rows.kept_rows(), 3U) << "image 2 is image 0's copy; image 1 has overflowed";
    retire(5, {kOver, kAlive, kAlive, kAlive});
    EXPECT_EQ(rows.outcome().overflow, (std::vector<Overflow>{{0, 4}, {1, 1}, {2, 4}}));
  }
}

}  // namespace
}  // namespace spdnn::cuda
