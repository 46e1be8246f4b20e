#include <gtest/gtest.h>

#include "engines/cpu/lanes/runnable.hpp"
#include "engines/cpu/plain/convolution.hpp"

namespace spdnn::plain {
namespace {

/// Predicted seconds for 1 x 1 taps on 64 channels of so many pixels.
double seconds(Extent filters, Extent pixels) {
  return predicted_seconds({{1, 64, 1, pixels}, {1, filters, 1, pixels}}, 1);
}

TEST(PlainConvolution, ComputesWholeBlocksOfFilters) {
  const Extent together = filters_together();
  EXPECT_DOUBLE_EQ(seconds(1, 1000), seconds(together, 1000));
  EXPECT_GT(seconds(together + 1, 1000), 1.9 * seconds(together, 1000));
}

TEST(PlainConvolution, ComputesWholeTilesOfPixels) {
  EXPECT_LT(seconds(8, 12) - seconds(8, 11), 0.1 * (seconds(8, 13) - seconds(8, 12)));
}

TEST(PlainConvolution, LeavesRegistersComputedInHalvesToAvx2) {
  const Extent lanes = !lanes::runs_avx2() ? 4 : lanes::runs_avx512() && !lanes::halves_avx512() ? 16 : 8;
  EXPECT_EQ(filters_together(), 2 * lanes);
}

}  // namespace
}  // namespace spdnn::plain
