#include "engines/cuda/conv_direct/direct.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

namespace spdnn::cuda {

namespace {

constexpr std::size_t kUnit = 16;    ///< of copies to shared memory
constexpr Index kMostChannels = 32;  ///< of a chunk
constexpr std::size_t kEntryBytes = 8;
constexpr std::size_t kEntriesAhead = 1;  ///< that are read before it is known that there are none

std::size_t aligned(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

std::size_t slots_of(const DirectTiling& tiling) { return std::size_t{kDirectWarps} * tiling.filters; }
std::size_t head_bytes(const DirectTiling& tiling) { return aligned((slots_of(tiling) + 1) * sizeof(Index)); }

/// The tile's columns with the fewest reads per output, and the filters whose sums fit into registers with them.
void choose_columns(const DirectShape& shape, DirectTiling& tiling) {
  constexpr Index kWidths[][2] = {{7, 3}, {4, 4}, {2, 6}, {1, 8}};
  double best = 0;
  for (const auto& [columns, filters] : kWidths) {
    const Index across = (shape.out[1] + columns - 1) / columns;
    const double cost = across * (columns + 1.0);  // an entry costs about as much as a pixel
    if (tiling.columns != 0 && cost >= best) continue;
    best = cost;
    tiling.columns = columns;
    tiling.filters = filters;
  }
}

/// Filters by slot: dealt by falling number of non-zeros, to and fro.
std::vector<Index> dealt(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights) {
  std::vector<Index> order(shape.filters);
  std::iota(order.begin(), order.end(), Index{0});
  const auto count = [&](Index filter) { return weights.offsets[filter + 1] - weights.offsets[filter]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return count(a) > count(b); });
  const Index warps = tiling.filter_blocks * kDirectWarps;
  std::vector<Index> filters(std::size_t{warps} * tiling.filters, kNoFilter);
  for (Index i = 0; i < shape.filters; ++i) {
    const Index round = i / warps;
    const Index place = i % warps;
    filters[std::size_t{round % 2 == 0 ? place : warps - 1 - place} * tiling.filters + round] = order[i];
  }
  return filters;
}

/// Calls part(begins, entries) for each block of filters and chunk, in order.
template <class Part>
void for_each_part(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights, Part part) {
  const std::vector<Index> filters = dealt(shape, tiling, weights);
  const Index taps = shape.kernel[0] * shape.kernel[1];
  const std::size_t slots = slots_of(tiling);
  std::vector<Index> begins(slots + 1);
  std::vector<std::uint64_t> entries;
  std::vector<Offset> next(slots);
  for (Index block = 0; block < tiling.filter_blocks; ++block) {
    const auto filter_of = [&](std::size_t slot) { return filters[block * slots + slot]; };
    for (std::size_t slot = 0; slot < slots; ++slot)
      next[slot] = filter_of(slot) == kNoFilter ? 0 : weights.offsets[filter_of(slot)];
    for (Index chunk = 0; chunk < tiling.chunks; ++chunk) {
      const Index first = chunk * tiling.channels;
      entries.clear();
      for (std::size_t slot = 0; slot < slots; ++slot) {
        begins[slot] = static_cast<Index>(head_bytes(tiling) / kEntryBytes + entries.size());
        const Index filter = filter_of(slot);
        if (filter == kNoFilter) continue;
        Offset& at = next[slot];
        for (; at < weights.offsets[filter + 1] && weights.indices[at] / taps < first + tiling.channels; ++at) {
          const Index tap = weights.indices[at] % taps;
          const Index row = tap / shape.kernel[1] * shape.dilation[0];
          const Index column = tap % shape.kernel[1] * shape.dilation[1];
          const Index channel = weights.indices[at] / taps - first;
          const auto offset = static_cast<std::uint32_t>(
              ((std::size_t{channel} * tiling.rows_read + row) * tiling.columns_read + column) * kPixelBytes);
          entries.push_back(std::uint64_t{std::bit_cast<std::uint32_t>(weights.entry_value(at))} << 32U | offset);
        }
      }
      begins[slots] = static_cast<Index>(head_bytes(tiling) / kEntryBytes + entries.size());
      entries.insert(entries.end(), kEntriesAhead, 0);
      part(begins, entries);
    }
  }
}

std::size_t part_bytes(const DirectTiling& tiling, std::size_t entries) {
  return aligned(head_bytes(tiling) + entries * kEntryBytes);
}

}  // namespace

DirectShape direct_shape(const ConvolutionShape& convolution) {
  constexpr Extent kTogether = kPixelBytes / sizeof(float);
  const auto& [in, out, groups, window] = convolution;
  DirectShape shape{.channels = static_cast<Index>(in.channels),
                    .filters = static_cast<Index>(out.channels),
                    .blocks = static_cast<Index>((in.images + kTogether - 1) / kTogether)};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    shape.in[axis] = static_cast<Index>(in.spatial(axis));
    shape.out[axis] = static_cast<Index>(out.spatial(axis));
    shape.kernel[axis] = window.kernel[axis];
    shape.stride[axis] = window.stride[axis];
    shape.dilation[axis] = window.dilation[axis];
    shape.pad[axis] = window.pad_begin[axis];
  }
  shape.in_row = shape.in[1];
  shape.in_channel = shape.in_row * shape.in[0];
  shape.in_block = shape.in_channel * shape.channels;
  shape.out_row = shape.out[1];
  shape.out_channel = shape.out_row * shape.out[0];
  shape.out_block = shape.out_channel * shape.filters;
  return shape;
}

std::optional<DirectTiling> direct_tiling(const DirectShape& shape, std::size_t nonzeros, std::size_t block_bytes) {
  DirectTiling tiling;
  choose_columns(shape, tiling);
  const auto read = [&](Index pixels, std::size_t axis) {
    return (pixels - 1) * shape.stride[axis] + (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
  };
  tiling.rows_read = read(kTileRows, 0);
  tiling.columns_read = read(tiling.columns, 1);
  tiling.filter_blocks = (shape.filters + kDirectWarps * tiling.filters - 1) / (kDirectWarps * tiling.filters);
  const std::size_t across = (std::size_t{shape.out[1]} + tiling.columns - 1) / tiling.columns;
  const std::size_t tiles = across * ((shape.out[0] + kTileRows - 1) / kTileRows);
  if (static_cast<double>(tiles) * tiling.filter_blocks * shape.blocks > 0x7fffffff) return std::nullopt;
  // Two chunks are in shared memory, with the entries of a block of filters: of these some have more than others.
  constexpr double kUneven = 3;
  const double entries = kUneven * static_cast<double>(nonzeros) / std::max(Index{1}, tiling.filter_blocks) /
                         std::max(Index{1}, shape.channels);
  const double bytes = static_cast<double>(tiling.rows_read) * tiling.columns_read * kPixelBytes +
                       static_cast<double>(kEntryBytes) * entries;
  const double most = (static_cast<double>(block_bytes) / 2 - static_cast<double>(head_bytes(tiling))) / bytes;
  if (most < 1) return std::nullopt;
  tiling.channels = std::min({kMostChannels, shape.channels, static_cast<Index>(std::min(most, 1e6))});
  tiling.chunks = (shape.channels + tiling.channels - 1) / tiling.channels;
  tiling.channels = (shape.channels + tiling.chunks - 1) / tiling.chunks;
  return tiling;
}

std::size_t direct_stage_bytes(const DirectTiling& tiling, std::size_t part_bytes) {
  return (tiling.tile_bytes() + part_bytes + kPixelBytes - 1) / kPixelBytes * kPixelBytes;
}

std::size_t direct_shared_bytes(const DirectTiling& tiling, std::size_t part_bytes) {
  return 2 * direct_stage_bytes(tiling, part_bytes) + 2 * kPixelBytes;
}

std::size_t DirectWeights::filters_at(const DirectTiling& tiling) {
  return aligned((std::size_t{tiling.filter_blocks} * tiling.chunks + 1) * sizeof(Index));
}
std::size_t DirectWeights::bias_at(const DirectTiling& tiling) {
  return filters_at(tiling) + aligned(tiling.filter_blocks * slots_of(tiling) * sizeof(Index));
}
std::size_t DirectWeights::parts_at(const DirectShape& shape, const DirectTiling& tiling) {
  return bias_at(tiling) + aligned(shape.filters * sizeof(float));
}

std::size_t DirectWeights::bytes(const DirectShape& shape, const DirectTiling& tiling, std::size_t nonzeros) {
  const std::size_t parts = std::size_t{tiling.filter_blocks} * tiling.chunks;
  return parts_at(shape, tiling) + parts * (head_bytes(tiling) + kEntriesAhead * kEntryBytes + kUnit) +
         nonzeros * kEntryBytes;
}

std::size_t DirectWeights::largest_part(const DirectShape& shape, const DirectTiling& tiling,
                                        const CsrMatrix& weights) {
  const std::vector<Index> filters = dealt(shape, tiling, weights);
  const Index of_chunk = tiling.channels * shape.kernel[0] * shape.kernel[1];
  const std::size_t slots = slots_of(tiling);
  std::size_t largest = 0;
  std::vector<std::size_t> entries;
  for (std::size_t slot = 0; slot < filters.size(); ++slot) {
    if (slot % slots == 0) entries.assign(tiling.chunks, kEntriesAhead);
    if (filters[slot] == kNoFilter) continue;
    for (const Index column : weights.row(filters[slot])) largest = std::max(largest, ++entries[column / of_chunk]);
  }
  return part_bytes(tiling, std::max(largest, kEntriesAhead));
}

void DirectWeights::pack(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights,
                         const float* bias, std::byte* to) {
  std::vector<Index> starts{static_cast<Index>(parts_at(shape, tiling))};
  for_each_part(
      shape, tiling, weights, [&](const std::vector<Index>& begins, const std::vector<std::uint64_t>& entries) {
        std::byte* const part = to + starts.back();
        std::memcpy(part, begins.data(), begins.size() * sizeof(Index));
        std::copy(entries.begin(), entries.end(), reinterpret_cast<std::uint64_t*>(part + head_bytes(tiling)));
        starts.push_back(starts.back() + static_cast<Index>(part_bytes(tiling, entries.size())));
      });
  std::memcpy(to, starts.data(), starts.size() * sizeof(Index));
  const std::vector<Index> filters = dealt(shape, tiling, weights);
  std::memcpy(to + filters_at(tiling), filters.data(), filters.size() * sizeof(Index));
  auto* const biases = reinterpret_cast<float*>(to + bias_at(tiling));
  for (Index filter = 0; filter < shape.filters; ++filter) biases[filter] = bias == nullptr ? 0.0F : bias[filter];
}

}  // namespace spdnn::cuda
