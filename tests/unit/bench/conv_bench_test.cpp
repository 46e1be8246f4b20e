// Which kernels of a measurement make `bench conv` fail. tests/cli/bench_conv.bats has the rest of it.

#include "bench/conv_bench.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace spdnn::bench {
namespace {

const ConvRival& rival(std::string_view key) {
  for (const ConvRival& one : conv_rivals(Device::cuda))
    if (one.key == key) return one;
  throw std::invalid_argument(std::string(key));
}

BeyondBounds beyond_bounds(double ours, std::string_view key, double deviation) {
  ConvTiming timing;
  timing.ours.kernel = "conv_generated";
  timing.ours.deviation = ours;
  ConvPeer& peer = timing.with.emplace_back();
  peer.rival = &rival(key);
  peer.timed.kernel = peer.rival->family;
  peer.timed.deviation = deviation;
  ConvCase layer;
  layer.layer = conv_table("skimcaffe").front();
  BeyondBounds beyond;
  add_beyond_bounds(layer, timing, beyond);
  return beyond;
}

TEST(BeyondBounds, OfALibraryIsReportedAlone) {
  const BeyondBounds found = beyond_bounds(0.5, "fp32", 5.7);
  EXPECT_NE(found.text.find("cuDNN's conv_dense in fp32 deviates by 5.7 times its bound\n"), std::string::npos);
  EXPECT_FALSE(found.ours);
}

TEST(BeyondBounds, OfOursFailsInEitherColumn) {
  EXPECT_TRUE(beyond_bounds(1.5, "fp32", 1).ours);
  EXPECT_TRUE(beyond_bounds(NAN, "fp32", 1).ours);
  const BeyondBounds found = beyond_bounds(1, "direct16", 2);
  EXPECT_TRUE(found.ours);
  EXPECT_NE(found.text.find(": conv_direct in fp16 deviates by 2 times its bound\n"), std::string::npos);
  EXPECT_EQ(beyond_bounds(1, "direct", 1).text, "");
}

}  // namespace
}  // namespace spdnn::bench
