// Outcomes from the bits and counts that device kernels write.

#include <gtest/gtest.h>

#include "engines/cuda/retire/outcome.hpp"

namespace spdnn::cuda {
namespace {

struct LayerCount {
  unsigned live;
  unsigned saturated;
  unsigned duplicates;
};

TEST(ReadOutcome, ListsTheImagesWhoseBitIsSet) {
  const std::uint32_t words[] = {0x80000001U, 0x10U, 0x5U};
  EXPECT_EQ(images_of(words, 67), (std::vector<Index>{0, 31, 36, 64, 66}));
  EXPECT_EQ(images_of(words, 64), (std::vector<Index>{0, 31, 36}));
  EXPECT_TRUE(images_of(words, 0).empty());
}

TEST(ReadOutcome, ImagesRetiredAtTheCapStayAlive) {
  const LayerCount counts[] = {{10, 3, 0}, {6, 0, 0}, {5, 5, 0}, {0, 0, 0}};
  Outcome outcome;
  add_layer_counts(counts, 4, 4, outcome);
  EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{10, 9, 8, 8}));
  EXPECT_EQ(outcome.active, (std::vector<std::int64_t>{7, 6, 0, 0}));
  EXPECT_EQ(outcome.saturated, 8);
}

TEST(ReadOutcome, DuplicatesAreAliveWhileTheirOwnersAre) {
  const LayerCount counts[] = {{10, 0, 0}, {6, 2, 4}, {3, 0, 0U - 3U}, {0, 0, 0U - 1U}};
  Outcome outcome;
  add_layer_counts(counts, 4, 4, outcome);
  EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{10, 10, 6, 2}));
  EXPECT_EQ(outcome.saturated, 2);
}

TEST(ReadOutcome, BehindTheLayersThatWereCountedNothingChanges) {
  const LayerCount counts[] = {{10, 3, 0}, {6, 0, 2}, {99, 99, 99}};
  Outcome outcome;
  add_layer_counts(counts, 2, 5, outcome);
  EXPECT_EQ(outcome.alive, (std::vector<std::int64_t>{10, 11, 5, 5, 5}));
  EXPECT_EQ(outcome.active, (std::vector<std::int64_t>{7, 6, 0, 0, 0}));
  EXPECT_EQ(outcome.saturated, 3);
}

}  // namespace
}  // namespace spdnn::cuda
