#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "engines/cpu/lanes/runnable.hpp"
#include "engines/cpu/plain/convolution.hpp"
#include "support/networks.hpp"

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

/// Images have channels innermost; weight k of filter f is 1 + f + 100 k.
TEST(PlainConvolution, LeavesAndFinishesEachResultOnceInEachGroup) {
  for (const auto& [groups, filters] : {std::pair<Index, Extent>{1, 3}, {2, 5}, {3, 40}, {4, 1}}) {
    const Extent channels = groups == 4 ? 1 : 2;
    const ConvolutionShape shape{{2, groups * channels, 3, 5}, {2, groups * filters, 3, 5}, groups, {.kernel = {1, 1}}};
    testing::Rows rows;
    std::vector<float> bias;
    for (Index f = 0; f < shape.out.channels; ++f) {
      rows.emplace_back();
      for (Index k = 0; k < channels; ++k) rows.back().emplace_back(k, static_cast<float>(1 + f + 100 * k));
      bias.push_back(static_cast<float>(f) / 2);
    }
    const CsrMatrix weights = testing::make_matrix(static_cast<Index>(channels), rows);
    std::vector<float> packed(packed_size(shape));
    pack_weights(shape, weights, packed.data());
    std::vector<float> images(static_cast<std::size_t>(2 * shape.in.channels * 15));
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 13);
    std::vector<float> scratch(convolution_scratch(shape));
    std::vector<float> results(static_cast<std::size_t>(2 * shape.out.channels * 15), -7);
    std::atomic<std::size_t> finished = 0;
    convolve(shape, packed.data(), bias.data(), images.data(), scratch.data(), results.data(),
             [&](float* some, std::size_t count) {
               for (std::size_t i = 0; i < count; ++i) some[i] *= 2;
               finished += count;
             });
    EXPECT_EQ(finished, results.size()) << groups;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto filter = i % static_cast<std::size_t>(shape.out.channels);
      const std::size_t pixel = i / static_cast<std::size_t>(shape.out.channels);
      float sum = bias[filter];
      for (Index k = 0; k < channels; ++k)
        sum += static_cast<float>(1 + filter + 100 * k) *
               images[pixel * static_cast<std::size_t>(shape.in.channels) +
                      filter / static_cast<std::size_t>(filters) * static_cast<std::size_t>(channels) + k];
      EXPECT_EQ(results[i], 2 * sum) << groups << " groups, filter " << filter << " of pixel " << pixel;
    }
  }
}

}  // namespace
}  // namespace spdnn::plain
