#include "engines/cuda/conv_direct/direct.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/types/narrow_floats.hpp"

namespace spdnn::cuda {

namespace {

constexpr std::size_t kUnit = 16;  ///< of copies to shared memory
constexpr std::size_t kEntryBytes = DirectWeights::kEntryBytes;

std::size_t aligned(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

std::size_t slots_of(const DirectTiling& tiling) { return std::size_t{kDirectWarps} * tiling.filters; }
/// Filters whose entries are one list.
Index filters_of_list(const DirectTiling& tiling) { return tiling.form.equal ? tiling.filters : 1; }
std::size_t lists_of(const DirectTiling& tiling) { return slots_of(tiling) / filters_of_list(tiling); }
/// Entries that are read before it is known that there are none.
std::size_t entries_ahead(const DirectTiling& tiling) { return filters_of_list(tiling); }

/// Filters by slot, by falling number of non-zeros: dealt to the warps to and fro, or one warp's after another's.
std::vector<Index> dealt(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights) {
  std::vector<Index> order(shape.filters);
  std::iota(order.begin(), order.end(), Index{0});
  const auto count = [&](Index filter) { return weights.offsets[filter + 1] - weights.offsets[filter]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return count(a) > count(b); });
  const Index warps = tiling.filter_blocks * kDirectWarps;
  std::vector<Index> filters(std::size_t{warps} * tiling.filters, kNoFilter);
  const auto give = [&](Index place, Index slot, Index filter) {  // all blocks of filters have about as much to do
    const Index warp = place % tiling.filter_blocks * kDirectWarps + place / tiling.filter_blocks;
    filters[std::size_t{warp} * tiling.filters + slot] = filter;
  };
  for (Index i = 0; i < shape.filters; ++i) {
    const Index round = i / warps;
    const Index place = i % warps;
    if (tiling.form.equal)
      give(i / tiling.filters, i % tiling.filters, order[i]);
    else
      give(round % 2 == 0 ? place : warps - 1 - place, round, order[i]);
  }
  return filters;
}

constexpr std::uint64_t kOffsetOfEntry = 0xffffffff;

std::uint32_t weight_bits(const DirectForm& form, float weight) {
  return form.half ? nearest_f16(weight) * 0x10001U : std::bit_cast<std::uint32_t>(weight);
}

/// Appends the first entry of each filter, the second of each, and so on. Entries of weight 0 fill up shorter filters:
/// they read a pixel that the filter reads anyway, so that numbers that are not finite reach no other filter.
void append_in_turns(const std::vector<std::vector<std::uint64_t>>& filters, std::vector<std::uint64_t>& entries) {
  const auto longest = std::max_element(filters.begin(), filters.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (std::size_t i = 0; i < longest->size(); ++i)
    for (const auto& own : filters)
      entries.push_back(i < own.size() ? own[i] : own.empty() ? 0 : own.back() & kOffsetOfEntry);
}

/// Calls part(begins, entries) for each block of filters and chunk, in order.
template <class Part>
void for_each_part(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights, Part part) {
  const std::vector<Index> filters = dealt(shape, tiling, weights);
  const Index taps = shape.kernel[0] * shape.kernel[1];
  const std::size_t slots = slots_of(tiling);
  std::vector<std::vector<std::uint64_t>> of_list(filters_of_list(tiling));
  std::vector<Index> begins;
  std::vector<std::uint64_t> entries;
  std::vector<Offset> next(slots);
  const auto next_begin = [&] {
    return static_cast<Index>(DirectWeights::head_bytes(tiling) / kEntryBytes + entries.size());
  };
  for (Index block = 0; block < tiling.filter_blocks; ++block) {
    const auto filter_of = [&](std::size_t slot) { return filters[block * slots + slot]; };
    for (std::size_t slot = 0; slot < slots; ++slot)
      next[slot] = filter_of(slot) == kNoFilter ? 0 : weights.offsets[filter_of(slot)];
    for (Index chunk = 0; chunk < tiling.chunks; ++chunk) {
      const Index first = chunk * tiling.channels;
      entries.clear();
      begins.clear();
      for (std::size_t slot = 0; slot < slots; ++slot) {
        std::vector<std::uint64_t>& own = of_list[slot % of_list.size()];
        own.clear();
        const Index filter = filter_of(slot);
        Offset& at = next[slot];
        const Offset end = filter == kNoFilter ? 0 : weights.offsets[filter + 1];
        for (; at < end && weights.indices[at] / taps < first + tiling.channels; ++at) {
          const Index tap = weights.indices[at] % taps;
          const Index row = tap / shape.kernel[1] * shape.dilation[0];
          const Index column = tap % shape.kernel[1] * shape.dilation[1];
          const Index channel = weights.indices[at] / taps - first;
          const auto offset = static_cast<std::uint32_t>(
              ((std::size_t{channel} * tiling.rows_read + row) * tiling.columns_read + column) *
              tiling.form.pixel_bytes());
          own.push_back(std::uint64_t{weight_bits(tiling.form, weights.entry_value(at))} << 32U | offset);
        }
        if (&own != &of_list.back()) continue;
        begins.push_back(next_begin());
        append_in_turns(of_list, entries);
      }
      begins.push_back(next_begin());
      entries.insert(entries.end(), entries_ahead(tiling), 0);
      part(begins, entries);
    }
  }
}

std::size_t part_bytes(const DirectTiling& tiling, std::size_t entries) {
  return aligned(DirectWeights::head_bytes(tiling) + entries * kEntryBytes);
}

/// The number of entries of each part, in order, without those that are read ahead.
std::vector<std::size_t> part_entries(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights) {
  const std::vector<Index> filters = dealt(shape, tiling, weights);
  const Index of_chunk = tiling.channels * shape.kernel[0] * shape.kernel[1];
  const std::size_t together = filters_of_list(tiling);
  std::vector<std::size_t> parts(std::size_t{tiling.filter_blocks} * tiling.chunks);
  std::vector<std::size_t> longest(tiling.chunks);
  std::vector<std::size_t> own(tiling.chunks);
  for (std::size_t slot = 0; slot < filters.size(); ++slot) {
    own.assign(tiling.chunks, 0);
    if (filters[slot] != kNoFilter)
      for (const Index column : weights.row(filters[slot])) ++own[column / of_chunk];
    std::size_t* const part = &parts[slot / slots_of(tiling) * tiling.chunks];
    for (Index chunk = 0; chunk < tiling.chunks; ++chunk) {
      longest[chunk] = std::max(slot % together == 0 ? 0 : longest[chunk], own[chunk]);
      if (slot % together == together - 1) part[chunk] += together * longest[chunk];
    }
  }
  return parts;
}

}  // namespace

DirectShape direct_shape(const ConvolutionShape& convolution) {
  constexpr Extent kTogether = kPixelBytes / sizeof(float);
  const auto& [in, out, groups, window] = convolution;
  DirectShape shape{window_axes(in, out, window)};
  shape.channels = static_cast<Index>(in.channels);
  shape.filters = static_cast<Index>(out.channels);
  shape.blocks = static_cast<Index>((in.images + kTogether - 1) / kTogether);
  shape.in_row = shape.in[1];
  shape.in_channel = shape.in_row * shape.in[0];
  shape.in_block = shape.in_channel * shape.channels;
  shape.out_row = shape.out[1];
  shape.out_channel = shape.out_row * shape.out[0];
  shape.out_block = shape.out_channel * shape.filters;
  return shape;
}

DirectShape shape_to_tile(DirectShape shape) {
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (shape.in[axis] != 1 || shape.out[axis] != 1 || shape.kernel[axis] != 1 || shape.pad[axis] != 0) return shape;
  shape.stride[0] = shape.stride[1] = 1;
  shape.in[0] = shape.out[0] = shape.blocks;
  shape.in_row = shape.in_block;
  shape.out_row = shape.out_block;
  shape.in_block *= shape.blocks;
  shape.out_block *= shape.blocks;
  shape.blocks = 1;
  return shape;
}

DirectShape product_shape(Index inputs, Index outputs, Extent rows) {
  const Extent images = rows * kPixelBytes / sizeof(float);
  return shape_to_tile(direct_shape({{images, inputs, 1, 1}, {images, outputs, 1, 1}, 1, {}}));
}

std::size_t direct_stage_bytes(const DirectTiling& tiling, std::size_t part_bytes) {
  return (tiling.tile_bytes() + part_bytes + kPixelBytes - 1) / kPixelBytes * kPixelBytes;
}

std::size_t direct_shared_bytes(const DirectTiling& tiling, std::size_t part_bytes) {
  return 2 * direct_stage_bytes(tiling, part_bytes) + 2 * kPixelBytes;
}

std::size_t DirectWeights::head_bytes(const DirectTiling& tiling) {
  return aligned((lists_of(tiling) + 1) * sizeof(Index));
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

std::size_t DirectWeights::entries(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights) {
  if (!tiling.form.equal) return weights.entries();
  const std::vector<std::size_t> parts = part_entries(shape, tiling, weights);
  return std::accumulate(parts.begin(), parts.end(), std::size_t{0});
}

std::size_t DirectWeights::bytes(const DirectShape& shape, const DirectTiling& tiling, std::size_t entries) {
  const std::size_t parts = std::size_t{tiling.filter_blocks} * tiling.chunks;
  return parts_at(shape, tiling) +
         parts * (DirectWeights::head_bytes(tiling) + entries_ahead(tiling) * kEntryBytes + kUnit) +
         entries * kEntryBytes;
}

std::size_t DirectWeights::largest_part(const DirectShape& shape, const DirectTiling& tiling,
                                        const CsrMatrix& weights) {
  const std::vector<std::size_t> parts = part_entries(shape, tiling, weights);
  const std::size_t most = parts.empty() ? 0 : *std::max_element(parts.begin(), parts.end());
  return part_bytes(tiling, most + entries_ahead(tiling));
}

void DirectWeights::pack(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights,
                         const float* bias, std::byte* to) {
  std::vector<Index> starts{static_cast<Index>(parts_at(shape, tiling))};
  for_each_part(shape, tiling, weights,
                [&](const std::vector<Index>& begins, const std::vector<std::uint64_t>& entries) {
                  std::byte* const part = to + starts.back();
                  std::memcpy(part, begins.data(), begins.size() * sizeof(Index));
                  std::copy(entries.begin(), entries.end(),
                            reinterpret_cast<std::uint64_t*>(part + DirectWeights::head_bytes(tiling)));
                  starts.push_back(starts.back() + static_cast<Index>(part_bytes(tiling, entries.size())));
                });
  std::memcpy(to, starts.data(), starts.size() * sizeof(Index));
  const std::vector<Index> filters = dealt(shape, tiling, weights);
  std::memcpy(to + filters_at(tiling), filters.data(), filters.size() * sizeof(Index));
  auto* const biases = reinterpret_cast<float*>(to + bias_at(tiling));
  for (Index filter = 0; filter < shape.filters; ++filter) biases[filter] = bias == nullptr ? 0.0F : bias[filter];
}

}  // namespace spdnn::cuda
