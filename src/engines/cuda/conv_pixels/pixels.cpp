#include "engines/cuda/conv_pixels/pixels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace spdnn::cuda {

namespace {

constexpr std::size_t kPartUnit = 16;
constexpr Index kTogether = 11;  ///< filters of a bundle, if it has several

std::size_t in_units(std::size_t bytes) { return (bytes + kPartUnit - 1) / kPartUnit * kPartUnit; }
Index rounded_up_quotient(Index a, Index b) { return (a + b - 1) / b; }

Index bundles_of(const PixelShape& shape, const PixelTiling& tiling) {
  return tiling.bundle_blocks(shape) * tiling.bundles_of_block();
}

/// An entry's place and tap, for a weight's column.
std::uint32_t place_of(const PixelShape& shape, Index filter, Index column) {
  const Index taps = shape.kernel[0] * shape.kernel[1];
  const Index group = filter / (shape.filters / shape.groups);
  const Index channel = group * (shape.channels / shape.groups) + column / taps;
  const Index tap = column % taps;
  const Index row = tap / shape.kernel[1] * shape.dilation[0];
  const Index place = channel * shape.in_plane() + row * shape.in[1] + tap % shape.kernel[1] * shape.dilation[1];
  return tap << kPlaceBits | place;
}

/// Entries of a bundle of filters that follow one another: columns in which any of them has a weight.
std::size_t entries_of(const CsrMatrix& weights, Index first, Index count) {
  if (count == 1) return weights.offsets[first + 1] - weights.offsets[first];
  std::vector<Index> columns(weights.indices.begin() + weights.offsets[first],
                             weights.indices.begin() + weights.offsets[first + count]);
  std::sort(columns.begin(), columns.end());
  return static_cast<std::size_t>(std::unique(columns.begin(), columns.end()) - columns.begin());
}

std::vector<std::size_t> entries_of_bundles(const CsrMatrix& weights, Index filters) {
  std::vector<std::size_t> entries;
  for (Index first = 0; first < weights.rows; first += filters)
    entries.push_back(entries_of(weights, first, std::min(filters, weights.rows - first)));
  return entries;
}

/// Of a block, if bundles are taken by falling number of entries.
std::size_t most_entries(const PixelTiling& tiling, std::vector<std::size_t> entries) {
  std::sort(entries.begin(), entries.end(), std::greater<>());
  const std::size_t first = std::min<std::size_t>(tiling.bundles_of_block(), entries.size());
  return std::accumulate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first), std::size_t{0});
}
/// Blocks that are on the device at the same time.
Index blocks_together(const PixelTiling& tiling, Index multiprocessors) {
  return multiprocessors * (tiling.filters == 1 ? 4 : 2);
}

/// Seconds of a kernel after another. The constants were fitted to ResNet-50's layers of 1 to 32 images on an H100.
double predicted_seconds(const PixelShape& shape, const PixelTiling& tiling, std::size_t entries,
                         Index multiprocessors) {
  constexpr double kStart = 0.7e-6;        // with the entries of a block
  constexpr double kRound = 1.45e-6;       // of pixels, without their reads
  constexpr double kReads = 0.2e-6;        // those that are under way at the same time
  constexpr double kGathered = 0.25e-6;    // sums of several warps
  constexpr double kBytesOfL2 = 5.2e10;    // that a multiprocessor reads of L2
  constexpr double kTogetherFactor = 2.2;  // of reads for several filters, by the multiply-adds that follow each
  const double bundle_blocks = std::max(tiling.bundle_blocks(shape), Index{1});
  const double waves = std::ceil(static_cast<double>(tiling.blocks(shape)) / blocks_together(tiling, multiprocessors));
  const double rounds = waves * tiling.rounds;
  const double ahead = tiling.pixels == 4 ? 4 : 8;
  const double reads = std::ceil(static_cast<double>(entries) / bundle_blocks / kPixelWarps / ahead);
  const double lines = static_cast<double>(entries) * tiling.pixel_blocks(shape) * tiling.rounds * tiling.pixels;
  const double factor = tiling.filters > 1 ? kTogetherFactor * tiling.filters / 4 : 1;
  const double busy = factor * lines * kPixelLanes * sizeof(float) / (kBytesOfL2 * multiprocessors);
  return kStart + (tiling.warps > 1 ? kGathered : 0) + rounds * (kRound + reads * kReads) + busy;
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

Index PixelTiling::bundle_blocks(const PixelShape& shape) const {
  return rounded_up_quotient(rounded_up_quotient(shape.filters, filters), bundles_of_block());
}
Index PixelTiling::pixel_blocks(const PixelShape& shape) const {
  return rounded_up_quotient(shape.pixels(), pixels * kPixelLanes * rounds);
}

PackedPixelWeights packed(const PixelShape& shape, const PixelTiling& tiling, const CsrMatrix& weights) {
  struct Weight {
    Index column;
    Index filter;  // of the bundle
    float value;
  };
  const std::vector<std::size_t> entries = entries_of_bundles(weights, tiling.filters);
  std::vector<Index> order(entries.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return entries[a] > entries[b]; });
  PackedPixelWeights made;
  made.filters.assign(std::size_t{bundles_of(shape, tiling)} * tiling.filters, kNobody);
  made.begins.push_back(0);
  Index count = 0;
  for (std::size_t bundle = 0; bundle < order.size(); ++bundle) {
    const Index first = order[bundle] * tiling.filters;
    const Index filters = std::min(tiling.filters, shape.filters - first);
    std::vector<Weight> all;
    for (Index f = 0; f < filters; ++f) {
      made.filters[bundle * tiling.filters + f] = first + f;
      for (Offset at = weights.offsets[first + f]; at < weights.offsets[first + f + 1]; ++at)
        all.push_back({weights.indices[at], f, weights.entry_value(at)});
    }
    std::stable_sort(all.begin(), all.end(), [](const Weight& a, const Weight& b) { return a.column < b.column; });
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || all[i].column != all[i - 1].column) {
        made.words.push_back(place_of(shape, first, all[i].column));
        made.words.insert(made.words.end(), tiling.filters, 0);
        ++count;
      }
      made.words[made.words.size() - tiling.filters + all[i].filter] = std::bit_cast<std::uint32_t>(all[i].value);
    }
    made.begins.push_back(count);
  }
  made.begins.resize(std::size_t{bundles_of(shape, tiling)} + 1, count);
  return made;
}

PackedSizes packed_sizes(const PixelTiling& tiling, const CsrMatrix& weights) {
  const std::vector<std::size_t> entries = entries_of_bundles(weights, tiling.filters);
  return {std::accumulate(entries.begin(), entries.end(), std::size_t{0}),
          static_cast<Index>(most_entries(tiling, entries))};
}

PixelParts parts_of(const PixelShape& shape, const PixelTiling& tiling, std::size_t entries) {
  const std::size_t bundles = bundles_of(shape, tiling);
  PixelParts parts;
  parts.filters = in_units((bundles + 1) * sizeof(Index));
  parts.bias = parts.filters + in_units(bundles * tiling.filters * sizeof(Index));
  parts.words = parts.bias + in_units(shape.filters * sizeof(float));
  parts.bytes = parts.words + in_units(entries * tiling.entry_bytes());
  return parts;
}

void pack(const PackedPixelWeights& weights, const std::vector<float>& bias, const PixelParts& parts, std::byte* to) {
  const auto copy = [&](std::size_t at, const auto& from) {
    if (!from.empty()) std::memcpy(to + at, from.data(), from.size() * sizeof(from[0]));
  };
  copy(0, weights.begins);
  copy(parts.filters, weights.filters);
  std::memset(to + parts.bias, 0, parts.words - parts.bias);
  copy(parts.bias, bias);
  copy(parts.words, weights.words);
}

std::size_t pixel_shared_bytes(const PixelTiling& tiling, Index most_entries) {
  const std::size_t sums =
      tiling.warps == 1 ? 0 : std::size_t{kPixelWarps} * tiling.filters * tiling.pixels * kPixelLanes * sizeof(float);
  return pixel_entries_bytes(most_entries * tiling.entry_bytes()) + sums;
}

std::vector<PixelTiling> all_pixel_tilings() {
  std::vector<PixelTiling> all;
  for (const Index warps : {1U, 2U, 4U, 8U}) {
    for (const Index pixels : {1U, 2U, 4U}) all.push_back({.filters = 1, .pixels = pixels, .warps = warps});
    all.push_back({.filters = kTogether, .pixels = 2, .warps = warps});
  }
  return all;
}

std::vector<PixelTiling> pixel_tilings(const PixelShape& shape, const CsrMatrix& weights, Index multiprocessors,
                                       std::size_t block_bytes) {
  constexpr double kDense = 0.25;  // filters are not computed together below this density
  const bool together = shape.groups == 1 && static_cast<double>(weights.entries()) >=
                                                 kDense * static_cast<double>(weights.rows) * weights.cols;
  const std::vector<std::size_t> alone = entries_of_bundles(weights, 1);
  const std::vector<std::size_t> several = together ? entries_of_bundles(weights, kTogether) : alone;
  std::vector<PixelTiling> tilings;
  for (PixelTiling tiling : all_pixel_tilings()) {
    if (tiling.filters > 1 && !together) continue;
    const std::vector<std::size_t>& entries = tiling.filters > 1 ? several : alone;
    const std::size_t most = most_entries(tiling, entries);
    if (pixel_shared_bytes(tiling, static_cast<Index>(most)) > block_bytes) continue;
    tiling.rounds = rounds_of(shape, tiling, multiprocessors);
    tiling.seconds = predicted_seconds(shape, tiling, std::accumulate(entries.begin(), entries.end(), std::size_t{0}),
                                       multiprocessors);
    tilings.push_back(tiling);
  }
  std::stable_sort(tilings.begin(), tilings.end(),
                   [](const PixelTiling& a, const PixelTiling& b) { return a.seconds < b.seconds; });
  return tilings;
}

}  // namespace spdnn::cuda
