#include "engines/cpu/sparse_conv/filters.hpp"

#include <algorithm>

#include "spdnn/types.hpp"

namespace spdnn::sparse_conv {

namespace {

constexpr std::size_t kLineBytes = 64;

/// Where the arrays begin, in bytes.
struct Places {
  Places(const Tiling& tiling, Offset entry_count) {
    const auto groups = static_cast<std::size_t>(tiling.shape.groups);
    const auto part_count = groups * static_cast<std::size_t>(tiling.parts);
    const auto blocks_of_part = static_cast<std::size_t>(tiling.blocks());
    const auto row_count = groups * static_cast<std::size_t>(tiling.shape.filters()) * blocks_of_part;
    const auto after = [](std::size_t place, std::size_t bytes) {
      return (place + bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    };
    blocks = after(0, part_count * sizeof(Part));
    rows = after(blocks, part_count * blocks_of_part * sizeof(Block));
    entries = after(rows, row_count * sizeof(Row));
    end = after(entries, entry_count * sizeof(Entry));
  }
  std::size_t blocks;
  std::size_t rows;
  std::size_t entries;
  std::size_t end;
};

class Packer {
 public:
  Packer(const Tiling& tiling, const WeightRows& weights, std::byte* to) : tiling_(tiling), weights_(weights) {
    const Places places(tiling, weights.offsets.back());
    parts_ = reinterpret_cast<Part*>(to);
    blocks_ = reinterpret_cast<Block*>(to + places.blocks);
    rows_ = reinterpret_cast<Row*>(to + places.rows);
    entries_ = reinterpret_cast<Entry*>(to + places.entries);
  }

  void pack() {
    const Extent filters = tiling_.shape.filters();
    for (Extent group = 0; group < tiling_.shape.groups; ++group) {
      Extent first = 0;
      for (Extent part = 1; part <= tiling_.parts; ++part) {
        const Extent end = part == tiling_.parts ? filters : end_of_part(group, part);
        *parts_++ = {narrow<std::int32_t>(first), narrow<std::int32_t>(end - first)};
        for (Extent block = 0; block < tiling_.blocks(); ++block) pack_block(group * filters, first, end, block);
        first = end;
      }
    }
  }

 private:
  Offset offset_of(Extent filter) const { return weights_.offsets[static_cast<std::size_t>(filter)]; }

  /// Parts have about equal numbers of entries.
  Extent end_of_part(Extent group, Extent part) const {
    const Extent begin = group * tiling_.shape.filters();
    const Offset all = offset_of(begin + tiling_.shape.filters()) - offset_of(begin);
    const Offset wanted = offset_of(begin) + all * static_cast<Offset>(part) / static_cast<Offset>(tiling_.parts);
    Extent filter = 0;
    while (filter < tiling_.shape.filters() && offset_of(begin + filter) < wanted) ++filter;
    return filter;
  }

  /// The entries of a row in a block of channels; they are in the order of the channels.
  std::pair<Offset, Offset> entries_in(Extent filter, Extent block) const {
    const Extent columns = tiling_.channels * tiling_.shape.taps();
    const Index* const indices = weights_.indices.data();
    const auto place = [&](Extent column) {
      return static_cast<Offset>(
          std::lower_bound(indices + offset_of(filter), indices + offset_of(filter + 1), static_cast<Offset>(column)) -
          indices);
    };
    return {place(block * columns), place((block + 1) * columns)};
  }

  void pack_block(Extent before, Extent first, Extent end, Extent block) {
    Row* const begin = rows_ + row_count_;
    Row* row = begin;
    for (Extent filter = first; filter < end; ++filter) {
      const auto [from, to] = entries_in(before + filter, block);
      const auto of_filter = [&](std::span<const float> numbers) {
        return numbers.empty() ? 0.F : numbers[static_cast<std::size_t>(before + filter)];
      };
      *row++ = {narrow<std::int32_t>(filter - first), narrow<std::int32_t>(to - from), of_filter(weights_.bias),
                of_filter(weights_.scales)};
    }
    std::stable_sort(begin, row, [](const Row& a, const Row& b) { return a.entries > b.entries; });
    const bool outer = block == 0 || block + 1 == tiling_.blocks();
    const Row* const used =
        outer ? row : std::partition_point(begin, row, [](const Row& one) { return one.entries > 0; });
    *blocks_++ = {row_count_, entry_count_, static_cast<std::int32_t>(used - begin)};
    row_count_ += end - first;
    for (const Row* one = begin; one < row; ++one) pack_entries(before + first + one->filter, block);
  }

  void pack_entries(Extent filter, Extent block) {
    const Extent taps = tiling_.shape.taps();
    const Extent kernel_columns = tiling_.shape.window.kernel[1];
    const auto [from, to] = entries_in(filter, block);
    for (Offset k = from; k < to; ++k) {
      const Extent channel = weights_.indices[k] / taps - block * tiling_.channels;
      const Extent tap = weights_.indices[k] % taps;
      const Extent place = channel * tiling_.channel_size() + tiling_.place(tap / kernel_columns, tap % kernel_columns);
      entries_[entry_count_++] = {weights_.weight(k), narrow<std::int32_t>(place * static_cast<Extent>(sizeof(float)))};
    }
  }

  const Tiling& tiling_;
  const WeightRows& weights_;
  Part* parts_;
  Block* blocks_;
  Row* rows_;
  Entry* entries_;
  std::int64_t row_count_ = 0;
  std::int64_t entry_count_ = 0;
};

}  // namespace

Filters::Filters(const Tiling& tiling, const std::byte* data)
    : parts_of_group_(tiling.parts), blocks_of_part_(tiling.blocks()) {
  const Places places(tiling, 0);
  parts_ = reinterpret_cast<const Part*>(data);
  blocks_ = reinterpret_cast<const Block*>(data + places.blocks);
  rows_ = reinterpret_cast<const Row*>(data + places.rows);
  entries_ = reinterpret_cast<const Entry*>(data + places.entries);
}

std::size_t Filters::bytes(const Tiling& tiling, Offset entries) { return Places(tiling, entries).end; }

void Filters::pack(const Tiling& tiling, const WeightRows& weights, std::byte* to) {
  Packer(tiling, weights, to).pack();
}

void Filters::pack(const Tiling& tiling, const CsrMatrix& weights, const std::vector<float>& bias, std::byte* to) {
  const auto weight = [&](Offset k) { return Weight{.number = weights.entry_value(k)}; };
  pack(tiling, {weights.offsets, weights.indices, weight, bias}, to);
}

}  // namespace spdnn::sparse_conv
