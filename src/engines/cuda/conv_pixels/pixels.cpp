#include "engines/cuda/conv_pixels/pixels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spdnn::cuda {

namespace {

Index rounded_up_quotient(Index a, Index b) { return (a + b - 1) / b; }

/// Blocks that are on the device at the same time.
Index blocks_together(const PixelTiling& tiling, Index multiprocessors) {
  return multiprocessors * (tiling.filters == 1 ? 4 : 2);
}

/// What predicted_seconds() counts.
struct Rates {
  double start;        ///< with the entries of a block
  double round;        ///< of pixels, without their reads
  double reads;        ///< those that are under way at the same time
  double gathered;     ///< sums of several warps
  double bytes_of_l2;  ///< that a multiprocessor reads of L2 in a second
};
/// Fitted to ResNet-50's layers of 1 to 16 images on an H100; those of four neighbouring pixels to its 1x1 layers of
/// one image on an H200. With more images these have not been measured, and count as others.
constexpr Rates kRates{0.65e-6, 1.35e-6, 0.185e-6, 0.23e-6, 5.6e10};
constexpr Rates kRatesOfQuads{0.75e-6, 1.1e-6, 0.11e-6, 0.25e-6, 1.4e11};

/// Seconds of a kernel after another.
double predicted_seconds(const PixelShape& shape, const PixelTiling& tiling, std::size_t entries,
                         Index multiprocessors) {
  constexpr double kTogetherFactor = 2.2;  // of reads for several filters, by the multiply-adds that follow each
  const Rates& rates = shape.images == 1 && tiling.has_quads(shape) ? kRatesOfQuads : kRates;
  const double bundle_blocks = std::max(tiling.bundle_blocks(shape), Index{1});
  const double waves = std::ceil(static_cast<double>(tiling.blocks(shape)) / blocks_together(tiling, multiprocessors));
  const double rounds = waves * tiling.rounds;
  const double ahead = tiling.pixels == 4 ? 4 : 8;
  const double reads = std::ceil(static_cast<double>(entries) / bundle_blocks / kPixelWarps / ahead);
  const double lines = static_cast<double>(entries) * tiling.pixel_blocks(shape) * tiling.rounds * tiling.pixels;
  const double factor = tiling.filters > 1 ? kTogetherFactor * tiling.filters / 4 : 1;
  const double busy = factor * lines * kPixelLanes * sizeof(float) / (rates.bytes_of_l2 * multiprocessors);
  return rates.start + (tiling.warps > 1 ? rates.gathered : 0) + rounds * (rates.round + reads * rates.reads) + busy;
}

/// As many rounds of pixels that all blocks are on the device at the same time.
Index rounds_of(const PixelShape& shape, const PixelTiling& tiling, Index multiprocessors) {
  const Index rows =
      std::max(Index{1}, blocks_together(tiling, multiprocessors) / std::max(tiling.bundle_blocks(shape), Index{1}));
  return std::max(Index{1}, rounded_up_quotient(tiling.pixel_blocks(shape), rows));
}

}  // namespace

std::optional<PixelShape> pixel_shape(const ConvolutionShape& convolution) {
  const auto& [in, out, groups, window] = convolution;
  const auto largest = static_cast<double>(std::max(in.channels * in.pixels(), out.channels * out.pixels()));
  constexpr double kMostNumbers = 0x7fffffff;  // of all images
  if (largest >= 1U << kPlaceBits || largest * static_cast<double>(in.images) > kMostNumbers) return std::nullopt;
  if (std::uint64_t{window.kernel[0]} * window.kernel[1] > kMostTaps) return std::nullopt;
  PixelShape shape{window_axes(in, out, window)};
  shape.images = static_cast<Index>(in.images);
  shape.channels = static_cast<Index>(in.channels);
  shape.filters = static_cast<Index>(out.channels);
  shape.groups = groups;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::uint64_t read = (std::uint64_t{shape.out[axis]} - 1) * shape.stride[axis] +
                               (std::uint64_t{shape.kernel[axis]} - 1) * shape.dilation[axis] + 1;
    shape.padded = shape.padded || shape.pad[axis] > 0 || read > shape.in[axis];
  }
  return shape;
}

bool PixelTiling::has_quads(const PixelShape& shape) const {
  return filters == 1 && pixels == 4 && rows == 0 && !shape.padded && shape.kernel[0] * shape.kernel[1] == 1 &&
         shape.stride[0] * shape.stride[1] == 1 && shape.plane() % 4 == 0;
}
Index PixelTiling::bundle_blocks(const PixelShape& shape) const {
  return rounded_up_quotient(rounded_up_quotient(shape.filters, filters), bundles_of_block());
}
Index PixelTiling::pixel_blocks(const PixelShape& shape) const {
  if (rows > 0) return shape.images * rounded_up_quotient(shape.out[0], rows);
  return rounded_up_quotient(shape.pixels(), pixels * kPixelLanes * rounds);
}

std::size_t pixel_shared_bytes(const PixelShape& shape, const PixelTiling& tiling, Index entries) {
  const std::size_t sums = tiling.warps == 1 ? 0
                                             : std::size_t{tiling.block_warps()} * tiling.filters * tiling.pixels *
                                                   kPixelLanes * sizeof(float);
  const std::size_t input =
      tiling.rows == 0 ? 0 : std::size_t{shape.channels} * tile_planes(shape, tiling).channel * sizeof(float);
  return pixel_entries_bytes(entries * tiling.entry_bytes()) + std::max(sums, input);
}

std::vector<PixelTiling> all_pixel_tilings(const PixelShape& shape) {
  std::vector<PixelTiling> all = tile_tilings(shape);
  for (const Index warps : {1U, 2U, 4U, 8U}) {
    for (const Index pixels : {1U, 2U, 4U}) all.push_back({.filters = 1, .pixels = pixels, .warps = warps});
    if (shape.groups == 1) all.push_back({.filters = kTogether, .pixels = 2, .warps = warps});
  }
  return all;
}

std::vector<PixelTiling> pixel_tilings(const PixelShape& shape, const CsrMatrix& weights, Index multiprocessors,
                                       std::size_t block_bytes) {
  constexpr double kDense = 0.25;  // filters are not computed together below this density
  const bool together =
      static_cast<double>(weights.entries()) >= kDense * static_cast<double>(weights.rows) * weights.cols;
  const std::vector<Index> alone = entries_of_bundles(weights, 1);
  const std::vector<Index> several = together ? entries_of_bundles(weights, kTogether) : alone;
  std::vector<PixelTiling> tilings;
  for (PixelTiling tiling : all_pixel_tilings(shape)) {
    if (tiling.filters > 1 && !together) continue;
    const std::vector<Index>& of_bundles = tiling.filters > 1 ? several : alone;
    if (pixel_shared_bytes(shape, tiling, most_entries(shape, tiling, of_bundles)) > block_bytes) continue;
    if (tiling.rows > 0) {
      const Index most = of_bundles.empty() ? 0 : *std::max_element(of_bundles.begin(), of_bundles.end());
      tiling.seconds = tile_seconds(shape, tiling, most, multiprocessors);
    } else {
      const std::size_t entries = std::accumulate(of_bundles.begin(), of_bundles.end(), std::size_t{0});
      tiling.rounds = rounds_of(shape, tiling, multiprocessors);
      tiling.seconds = predicted_seconds(shape, tiling, entries, multiprocessors);
    }
    tilings.push_back(tiling);
  }
  std::stable_sort(tilings.begin(), tilings.end(),
                   [](const PixelTiling& a, const PixelTiling& b) { return a.seconds < b.seconds; });
  return tilings;
}

}  // namespace spdnn::cuda
