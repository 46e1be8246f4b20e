// When the remaining rows are compacted.

#include "engines/cuda/retire/moving.hpp"

#include <gtest/gtest.h>

namespace spdnn::cuda {
namespace {

TEST(MovingRows, PaysWhereMoreThanASixteenthHaveRetiredOrAll) {
  EXPECT_FALSE(moving_pays(1600, 1500, {}));
  EXPECT_TRUE(moving_pays(1600, 1499, {}));
  EXPECT_FALSE(moving_pays(1600, 1600, {}));
  EXPECT_TRUE(moving_pays(10, 0, {}));
  EXPECT_TRUE(moving_pays(0, 0, {}));
}

TEST(MovingRows, PaysForFewRowsIfASavedTileRepaysIt) {
  // The slower of two ranks of the official network of 65536 neurons after layer 18, and at the end.
  EXPECT_TRUE(moving_pays(1028, 1017, {128, 102}));
  EXPECT_TRUE(moving_pays(1028, 1017, {128, 33}));
  EXPECT_FALSE(moving_pays(1028, 1017, {128, 32}));
  EXPECT_FALSE(moving_pays(1024, 1017, {128, 102})) << "no tile less";
  EXPECT_FALSE(moving_pays(60000, 59800, {128, 118})) << "468 tiles would be moved to save one";
  EXPECT_FALSE(moving_pays(1028, 1017, {}));
}

}  // namespace
}  // namespace spdnn::cuda
