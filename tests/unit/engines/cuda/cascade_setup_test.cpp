// How the host divides shared memory and layers for the kernels of `cascade`.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "engines/cuda/cascade/front_share.hpp"
#include "engines/cuda/cascade/setup.hpp"
#include "support/matrix_builder.hpp"

namespace spdnn::cuda::cascade {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kBlockOfH200 = 227 * kKiB;

/// Checks the kernels' requirements, and that the division is the largest that meets them.
void check_division(Index width, std::size_t block_bytes) {
  const SharedLayout layout = divide_shared_memory(width, block_bytes);
  const std::size_t row_bytes = std::size_t{padded_width(std::max(width, Index{1}))} * sizeof(float);
  if (layout.regions == 0) {
    EXPECT_GT(sizeof(Shared) + 2 * row_bytes, block_bytes) << "two regions of one column fit";
    return;
  }
  const std::size_t region_bytes = layout.region_floats * sizeof(float);
  EXPECT_TRUE(std::has_single_bit(layout.columns) && layout.columns <= kMostColumns) << layout.columns;
  EXPECT_EQ(region_bytes, layout.columns * row_bytes);
  EXPECT_LE(region_bytes, 32 * kKiB);
  EXPECT_GE(layout.regions, 2U) << "one is free";
  EXPECT_LE(layout.regions, kMostRegions);
  EXPECT_LE((layout.regions - 1) * layout.columns, kSlots);
  EXPECT_LE(layout.bytes(), block_bytes);
  EXPECT_TRUE(layout.regions == kMostRegions || layout.regions * layout.columns > kSlots ||
              layout.bytes() + region_bytes > block_bytes)
      << "another region fits";
  EXPECT_TRUE(layout.columns == kMostColumns || 2 * layout.columns * width > 8192 ||
              sizeof(Shared) + 4 * region_bytes > block_bytes)
      << "twice the columns fit";
}

TEST(CascadeSetup, DividesTheSharedMemoryOfABlock) {
  for (const Index width : {0U, 1U, 3U, 36U, 64U, 65U, 256U, 1000U, 1023U, 1024U, 1025U, 4096U, 8191U, 8192U})
    for (const std::size_t block_bytes : {48 * kKiB, 99 * kKiB, 163 * kKiB, kBlockOfH200}) {
      SCOPED_TRACE(::testing::Message() << width << " neurons, " << block_bytes << " bytes");
      check_division(width, block_bytes);
    }
  const auto expect = [](Index width, std::size_t block_bytes, Index columns, Index regions) {
    const SharedLayout layout = divide_shared_memory(width, block_bytes);
    EXPECT_EQ(layout.columns, columns) << width;
    EXPECT_EQ(layout.regions, regions) << width;
  };
  expect(36, kBlockOfH200, 128, 5);
  expect(256, kBlockOfH200, 32, 6);
  expect(8192, kBlockOfH200, 1, 6);
  expect(256, 48 * kKiB, 16, 2);  // 32 columns fit once
  EXPECT_EQ(divide_shared_memory(8192, 48 * kKiB).regions, 0U);
}

TEST(CascadeSetup, ACountingBlockTakesAsManyImagesAsLetEightBlocksRun) {
  const auto tile_of = [](Index image_pairs, Index class_slices, std::size_t block_bytes) {
    CountingArgs counting{};
    counting.image_pairs = image_pairs;
    counting.class_slices = class_slices;
    return counting_tile(counting, block_bytes);
  };
  EXPECT_EQ(tile_of(1, 1, kBlockOfH200), 128U);
  EXPECT_EQ(tile_of(16, 1, kBlockOfH200), 128U);  // 184 bytes per image
  EXPECT_EQ(tile_of(16, 2, kBlockOfH200), 128U);  // 216 bytes: all of 27 KiB
  EXPECT_EQ(tile_of(17, 2, kBlockOfH200), 64U);
  EXPECT_EQ(tile_of(1024, 8, kBlockOfH200), 2U);
  EXPECT_EQ(tile_of(1024, 2048, kBlockOfH200), 1U);  // more than 27 KiB
  EXPECT_EQ(tile_of(1024, 2048, 48 * kKiB), 0U);
}

TEST(CascadeSetup, AFrontDealsOutAllImagesOfFewRounds) {
  for (const Index images : {1U, 47U, 48U, 49U, 5285U, 100000U}) {
    const FrontShare share = divide_images(images, 132, 24, 16);
    EXPECT_GE(std::size_t{share.own_batches} * 132 * share.large_batch, images);
    EXPECT_LE(share.large_batch, 16U);
  }
  EXPECT_EQ(divide_images(5285, 132, 24, 16).large_batch, 2U);
  const FrontShare share = divide_images(1'000'000, 132, 24, 16);
  EXPECT_EQ(share.large_batch, 16U);
  EXPECT_EQ(share.small_batch, 8U);
  EXPECT_LE(std::size_t{share.own_batches} * 132 * 16, 500'000U);
  EXPECT_EQ(divide_images(1000, 2, 3, 1).small_batch, 1U);
}

TEST(CascadeSetup, ASampleOfImagesShowsWhatShareOfThePixelsIsLit) {
  MatrixBuilder even(100);
  MatrixBuilder periodic(100);
  for (Index image = 0; image < 4000; ++image) {
    for (Index k = 0; k < 30; ++k) even.add(k + image % 70);
    for (Index k = 0; k < 80 && image % 8 == 0; ++k) periodic.add(k);
    even.end_row();
    periodic.end_row();
  }
  EXPECT_DOUBLE_EQ(lit_share(ImageSet{even.uniform()}.to_bits()), 0.3);
  EXPECT_NEAR(lit_share(ImageSet{periodic.uniform()}.to_bits()), 0.1, 0.02);
  EXPECT_EQ(lit_share(BitMatrix{}), 0.0);
}

TEST(CascadeSetup, TheFirstLaunchRunsSixLayersAndAlternatingOnes) {
  const auto second_of = [](std::initializer_list<Index> pairs) {
    CascadeProgram program;
    for (const Index count : pairs) program.layers.emplace_back().pairs = count;
    return second_launch_layer(program);
  };
  EXPECT_EQ(second_of({0}), 1U);
  EXPECT_EQ(second_of({0, 4, 4, 0, 0}), 5U);
  EXPECT_EQ(second_of({0, 4, 4, 0, 0, 0}), 6U);
  EXPECT_EQ(second_of({0, 4, 4, 0, 0, 0, 0, 4}), 6U);
  EXPECT_EQ(second_of({0, 4, 4, 4, 4, 4, 4, 4, 0, 4}), 8U);
  EXPECT_EQ(second_of({0, 4, 4, 4, 4, 4, 4, 4}), 8U);
}

}  // namespace
}  // namespace spdnn::cuda::cascade
