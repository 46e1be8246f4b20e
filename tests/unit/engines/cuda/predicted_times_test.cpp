// Predictions by which kernels of convolutions are chosen on a GPU, beside times that were measured. They need not hold
// on other devices; where a prediction is changed, all of these have to hold again.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/conv_pixels/pixels.hpp"

namespace spdnn::cuda {
namespace {

constexpr Index kMultiprocessors = 132;
constexpr std::size_t kBlockBytes = 232448;

/// A convolution of square images and windows that keeps the extent, divided by the stride.
struct Layer {
  Index channels, extent, filters, kernel, stride = 1;

  ConvolutionShape shape(Extent images) const {
    const Index pad = (kernel - 1) / 2;
    const Extent out = (Extent{extent} + 2 * pad - kernel) / stride + 1;
    return {{images, channels, extent, extent},
            {images, filters, out, out},
            1,
            {.kernel = {kernel, kernel}, .stride = {stride, stride}, .pad_begin = {pad, pad}, .pad_end = {pad, pad}}};
  }
  /// Equally many weights of each filter, evenly spaced.
  CsrMatrix weights(double density) const {
    const Index columns = channels * kernel * kernel;
    const auto kept = static_cast<Index>(std::round(density * columns));
    std::vector<Offset> offsets{0};
    std::vector<Index> indices;
    for (Index filter = 0; filter < filters; ++filter) {
      for (Index i = 0; i < kept; ++i) indices.push_back(static_cast<Index>(std::uint64_t{i} * columns / kept));
      offsets.push_back(indices.size());
    }
    const std::vector<float> values(indices.size(), 1);
    return make_csr(filters, columns, offsets, indices, values);
  }
};

double microseconds_of_direct(const Layer& layer, double density, Extent images) {
  const CsrMatrix weights = layer.weights(density);
  const DirectShape shape = shape_to_tile(direct_shape(layer.shape(images)));
  const DirectTiling tiling = *direct_tiling(shape, weights.entries(), {kMultiprocessors, kBlockBytes});
  return 1e6 * direct_seconds(shape, tiling, weights.entries(), kMultiprocessors);
}

/// `quads`: also where a lane has four neighbouring pixels.
double microseconds_of_pixels(const Layer& layer, double density, Extent images, bool quads = true) {
  const PixelShape shape = *pixel_shape(layer.shape(images));
  for (const PixelTiling& tiling : pixel_tilings(shape, layer.weights(density), kMultiprocessors, kBlockBytes))
    if (quads || !tiling.has_quads(shape)) return 1e6 * tiling.seconds;
  return INFINITY;
}

/// Of fb9c2b07 by the harness with which predicted times are fitted: medians of 6 runs of the kernel alone, weights at
/// random places. Whole rounds of items, parts of one, chunks of many and of few entries; filters in more blocks than
/// there must be; a linear layer.
TEST(PredictedTimes, OfConvDirectAreThoseOfAnH200) {
  struct Measured {
    Layer layer;
    double density;
    Extent images;
    double microseconds;
  };
  const Measured all[] = {
      {{512, 7, 512, 3}, 0.1, 128, 251},    {{1776, 7, 192, 1}, 0.1, 128, 62},   {{992, 14, 128, 1}, 0.1, 128, 75},
      {{512, 28, 512, 3}, 0.05, 128, 1731}, {{256, 56, 256, 3}, 0.1, 128, 3348}, {{64, 224, 64, 3}, 0.05, 128, 1978},
      {{64, 56, 256, 1}, 0.1, 128, 182},    {{256, 56, 64, 1}, 0.1, 128, 159},   {{128, 28, 128, 3}, 0.1, 128, 229},
      {{256, 56, 64, 1}, 0.05, 32, 45},     {{256, 14, 1024, 1}, 0.05, 32, 32},  {{64, 56, 64, 3}, 0.05, 32, 46},
      {{128, 112, 128, 3}, 0.05, 32, 466},  {{25088, 1, 4096, 1}, 0.1, 128, 359}};
  for (const auto& [layer, density, images, microseconds] : all)
    EXPECT_NEAR(microseconds_of_direct(layer, density, images) / microseconds, 1, 0.11)
        << layer.channels << " x " << layer.extent << " -> " << layer.filters;
}

/// ResNet-50's convolutions and how many there are of each.
struct Counted {
  Layer layer;
  int count;
  double density() const { return layer.channels == 3 ? 1 : 0.05; }
};
constexpr Counted kResNet50[] = {
    {{3, 224, 64, 7, 2}, 1},     {{64, 56, 64, 1}, 1},    {{64, 56, 64, 3}, 3},       {{64, 56, 256, 1}, 4},
    {{256, 56, 64, 1}, 2},       {{256, 56, 128, 1}, 1},  {{128, 56, 128, 3, 2}, 1},  {{128, 28, 512, 1}, 4},
    {{256, 56, 512, 1, 2}, 1},   {{512, 28, 128, 1}, 3},  {{128, 28, 128, 3}, 3},     {{512, 28, 256, 1}, 1},
    {{256, 28, 256, 3, 2}, 1},   {{256, 14, 1024, 1}, 6}, {{512, 28, 1024, 1, 2}, 1}, {{1024, 14, 256, 1}, 5},
    {{256, 14, 256, 3}, 5},      {{1024, 14, 512, 1}, 1}, {{512, 14, 512, 3, 2}, 1},  {{512, 7, 2048, 1}, 3},
    {{1024, 14, 2048, 1, 2}, 1}, {{2048, 7, 512, 1}, 2},  {{512, 7, 512, 3}, 2}};

/// The layers one after another in a graph on an H100: in the tilings chosen, but for the first one's bundles, which a
/// warp computed each, and for four neighbouring pixels of a lane, which have a prediction of their own in one image.
TEST(PredictedTimes, OfConvPixelsAreThoseOfAnH100) {
  struct Measured {
    Extent images;
    double microseconds;
  };
  for (const auto& [images, microseconds] :
       {Measured{1, 280.7}, Measured{2, 449.8}, Measured{8, 1496}, Measured{16, 2889}}) {
    double sum = 0;
    for (const Counted& counted : kResNet50)
      sum += counted.count * microseconds_of_pixels(counted.layer, counted.density(), images, images > 1);
    EXPECT_NEAR(sum / microseconds, 1, 0.1) << images;
  }
}

/// 1x1 layers of one image, each one after another in a graph on an H200: the sums of the tilings chosen.
TEST(PredictedTimes, OfNeighbouringPixelsAreThoseOfAnH200) {
  constexpr Layer kLayers[] = {{64, 56, 64, 1},    {64, 56, 256, 1},  {256, 56, 64, 1},  {256, 56, 128, 1},
                               {128, 28, 512, 1},  {512, 28, 128, 1}, {512, 28, 256, 1}, {256, 14, 1024, 1},
                               {1024, 14, 256, 1}, {1024, 14, 512, 1}};
  for (const auto& [density, microseconds] : {std::pair{0.05, 32.9}, {0.1, 41.6}}) {
    double sum = 0;
    for (const Layer& layer : kLayers) sum += microseconds_of_pixels(layer, density, 1);
    EXPECT_NEAR(sum / microseconds, 1, 0.1) << density;
  }
}

/// conv_direct takes as long for one image as for 32.
TEST(PredictedTimes, ChooseConvDirectForMoreThanAFewImages) {
  EXPECT_EQ(microseconds_of_direct({512, 7, 512, 3}, 0.1, 1), microseconds_of_direct({512, 7, 512, 3}, 0.1, 32));
  const auto direct_layers = [](Extent images) {
    int count = 0;
    for (const Counted& counted : kResNet50)
      if (microseconds_of_direct(counted.layer, counted.density(), images) <
          microseconds_of_pixels(counted.layer, counted.density(), images))
        count += counted.count;
    return count;
  };
  EXPECT_EQ(direct_layers(4), 0);
  EXPECT_GT(direct_layers(16), 40);  // of 53
}

}  // namespace
}  // namespace spdnn::cuda
