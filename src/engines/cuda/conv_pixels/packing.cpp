// The weights of conv_pixels as its kernels read them.

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "engines/cuda/conv_pixels/pixels.hpp"

namespace spdnn::cuda {

namespace {

constexpr std::size_t kPartUnit = 16;

std::size_t in_units(std::size_t bytes) { return (bytes + kPartUnit - 1) / kPartUnit * kPartUnit; }

/// Entries of a bundle of filters that follow one another: columns in which any of them has a weight.
Index entries_of(const CsrMatrix& weights, Index first, Index count) {
  if (count == 1) return static_cast<Index>(weights.offsets[first + 1] - weights.offsets[first]);
  std::vector<Index> columns(weights.indices.begin() + weights.offsets[first],
                             weights.indices.begin() + weights.offsets[first + count]);
  std::sort(columns.begin(), columns.end());
  return static_cast<Index>(std::unique(columns.begin(), columns.end()) - columns.begin());
}

/// The bundles of each block, or kNobody, dealt by falling number of entries, forwards and backwards by turns, so that
/// all blocks have about as many.
std::vector<Index> dealt_bundles(const PixelShape& shape, const PixelTiling& tiling,
                                 const std::vector<Index>& entries) {
  std::vector<Index> order(entries.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return entries[a] > entries[b]; });
  const std::size_t blocks = tiling.bundle_blocks(shape);
  std::vector<Index> bundles(blocks * tiling.bundles_of_block(), kNobody);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t round = i / blocks;
    const std::size_t block = round % 2 == 0 ? i % blocks : blocks - 1 - i % blocks;
    bundles[block * tiling.bundles_of_block() + round] = order[i];
  }
  return bundles;
}

/// Where an entry's number lies.
class Places {
 public:
  Places(const PixelShape& shape, const PixelTiling& tiling)
      : shape_(shape), taps_(shape.kernel[0] * shape.kernel[1]), in_tile_(tiling.rows > 0) {
    if (in_tile_) planes_ = tile_planes(shape, tiling);
  }
  Index channel(Index filter, Index column) const {
    return filter / (shape_.filters / shape_.groups) * (shape_.channels / shape_.groups) + column / taps_;
  }
  /// The place and the tap; of a tile, whose planes have the taps beyond the image, the place.
  std::uint32_t word(Index filter, Index column) const {
    const Index tap = column % taps_;
    const Index row = tap / shape_.kernel[1] * shape_.dilation[0];
    const Index tap_column = tap % shape_.kernel[1] * shape_.dilation[1];
    if (in_tile_) return channel(filter, column) * planes_.channel + planes_.place(row, tap_column);
    return tap << kPlaceBits | (channel(filter, column) * shape_.in_plane() + row * shape_.in[1] + tap_column);
  }

 private:
  const PixelShape& shape_;
  Index taps_;
  bool in_tile_;
  TilePlanes planes_;
};

struct Weight {
  Index column;
  Index filter;  ///< of the bundle
  float value;
};

/// Of a bundle that begins with that filter, by column.
std::vector<Weight> weights_of(const CsrMatrix& weights, Index first, Index filters) {
  std::vector<Weight> all;
  for (Index f = 0; f < filters; ++f)
    for (Offset at = weights.offsets[first + f]; at < weights.offsets[first + f + 1]; ++at)
      all.push_back({weights.indices[at], f, weights.entry_value(at)});
  std::stable_sort(all.begin(), all.end(), [](const Weight& a, const Weight& b) { return a.column < b.column; });
  return all;
}

/// Appends the entries of a bundle that begins with filter `first`, of which `filters` exist; returns how many.
Index append_entries(const CsrMatrix& weights, const Places& places, const PixelTiling& tiling, Index first,
                     Index filters, std::vector<std::uint32_t>& words) {
  Index count = 0;
  Index column = kNobody;
  for (const Weight& weight : weights_of(weights, first, filters)) {
    if (weight.column != column) {
      column = weight.column;
      words.push_back(places.word(first, column));
      words.insert(words.end(), tiling.filters, 0);
      ++count;
    }
    words[words.size() - tiling.filters + weight.filter] = std::bit_cast<std::uint32_t>(weight.value);
  }
  return count;
}

}  // namespace

std::vector<Index> entries_of_bundles(const CsrMatrix& weights, Index filters) {
  std::vector<Index> entries;
  for (Index first = 0; first < weights.rows; first += filters)
    entries.push_back(entries_of(weights, first, std::min(filters, weights.rows - first)));
  return entries;
}

Index most_entries(const PixelShape& shape, const PixelTiling& tiling, const std::vector<Index>& entries) {
  const std::vector<Index> bundles = dealt_bundles(shape, tiling, entries);
  Index most = 0;
  for (std::size_t first = 0; first < bundles.size(); first += tiling.bundles_of_block()) {
    Index sum = 0;
    for (Index i = 0; i < tiling.bundles_of_block(); ++i)
      sum += bundles[first + i] == kNobody ? 0 : entries[bundles[first + i]];
    most = std::max(most, sum);
  }
  return most;
}

PackedPixelWeights packed(const PixelShape& shape, const PixelTiling& tiling, const CsrMatrix& weights) {
  const std::vector<Index> entries = entries_of_bundles(weights, tiling.filters);
  const std::vector<Index> bundles = dealt_bundles(shape, tiling, entries);
  const std::size_t of_block = std::size_t{most_entries(shape, tiling, entries)} * (tiling.filters + 1);
  const Places places(shape, tiling);
  PackedPixelWeights made;
  std::size_t number = 0;
  for (Index block = 0; block < tiling.bundle_blocks(shape); ++block) {
    made.begins.push_back(0);
    for (Index i = 0; i < tiling.bundles_of_block(); ++i, ++number) {
      const bool exists = bundles[number] != kNobody;
      const Index first = exists ? bundles[number] * tiling.filters : 0;
      const Index filters = exists ? std::min(tiling.filters, shape.filters - first) : 0;
      for (Index f = 0; f < tiling.filters; ++f) made.filters.push_back(f < filters ? first + f : kNobody);
      const Index count = append_entries(weights, places, tiling, first, filters, made.words);
      made.begins.push_back(made.begins.back() + count);
    }
    made.words.resize((block + std::size_t{1}) * of_block);
  }
  return made;
}

PixelParts parts_of(const PixelShape& shape, const PixelTiling& tiling, const CsrMatrix& weights) {
  const std::size_t blocks = tiling.bundle_blocks(shape);
  const std::size_t bundles = blocks * tiling.bundles_of_block();
  PixelParts parts;
  parts.entries = most_entries(shape, tiling, entries_of_bundles(weights, tiling.filters));
  parts.filters = in_units(blocks * (tiling.bundles_of_block() + 1) * sizeof(Index));
  parts.bias = parts.filters + in_units(bundles * tiling.filters * sizeof(Index));
  parts.words = parts.bias + in_units(shape.filters * sizeof(float));
  parts.bytes = parts.words + in_units(blocks * parts.entries * tiling.entry_bytes());
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

}  // namespace spdnn::cuda
