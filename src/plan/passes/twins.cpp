#include "plan/passes/twins.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/threads/parallel.hpp"
#include "core/threads/parallel_rows.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spdnn::planning {

namespace {

constexpr Index kEmptySlot = std::numeric_limits<Index>::max();

std::uint64_t row_hash(const Layer& layer, Index row) {
  const CsrMatrix& weights = layer.weights;
  const Offset begin = weights.offsets[row];
  const std::size_t degree = weights.degree(row);
  const auto bias = layer.bias.values.empty() ? 0 : std::bit_cast<std::uint64_t>(layer.bias.values[row]);
  std::uint64_t hash = XXH3_64bits_withSeed(weights.indices.data() + begin, degree * sizeof(Index), bias);
  if (!weights.uniform()) hash = XXH3_64bits_withSeed(weights.values.data() + begin, degree * sizeof(float), hash);
  return hash;
}

template <class T>
bool same_bits(const Array<T>& array, Offset a, Offset b, std::size_t count) {
  return array.empty() || std::memcmp(array.data() + a, array.data() + b, count * sizeof(T)) == 0;
}

bool rows_equal(const Layer& layer, Index a, Index b) {
  const CsrMatrix& weights = layer.weights;
  const std::size_t degree = weights.degree(a);
  return degree == weights.degree(b) && same_bits(layer.bias.values, a, b, 1) &&
         same_bits(weights.indices, weights.offsets[a], weights.offsets[b], degree) &&
         same_bits(weights.values, weights.offsets[a], weights.offsets[b], degree);
}

std::vector<std::uint64_t> row_hashes(const Layer& layer, std::uint64_t hash_mask) {
  std::vector<std::uint64_t> hashes(layer.outputs());
  for_row_ranges(layer.weights, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) hashes[row] = row_hash(layer, row) & hash_mask;
  });
  return hashes;
}

/// Groups the rows whose hash falls into `part` of `parts` by its upper half, in an open-addressing table that the
/// lower half of the hash addresses. Rows come in ascending order, so the lowest of equal rows becomes their
/// representative.
void group_part(const Layer& layer, const std::vector<std::uint64_t>& hashes, std::size_t part, std::size_t parts,
                std::span<Index> first) {
  const auto mine = [&](std::uint64_t hash) { return ((hash >> 32) * parts) >> 32 == part; };
  const auto members = static_cast<std::size_t>(std::count_if(hashes.begin(), hashes.end(), mine));
  std::vector<Index> table(std::bit_ceil(2 * members + 1), kEmptySlot);
  for (Index row = 0; row < layer.outputs(); ++row) {
    if (!mine(hashes[row])) continue;
    std::size_t slot = hashes[row] & (table.size() - 1);
    while (table[slot] != kEmptySlot && !(hashes[table[slot]] == hashes[row] && rows_equal(layer, table[slot], row)))
      slot = (slot + 1) & (table.size() - 1);
    if (table[slot] == kEmptySlot) table[slot] = row;
    first[row] = table[slot];
  }
}

}  // namespace

Array<Index> first_equal_rows(const Layer& layer, std::uint64_t hash_mask) {
  const std::vector<std::uint64_t> hashes = row_hashes(layer, hash_mask);
  std::vector<Index> first(layer.outputs());
  const std::size_t parts = useful_pieces(layer.weights.entries());
  parallel_for(parts, [&](std::size_t part) { group_part(layer, hashes, part, parts, first); });
  for (Index row = 0; row < first.size(); ++row)
    if (first[row] != row) return first;
  return {};
}

std::vector<Array<Index>> first_equal_rows(std::span<const Layer> layers) {
  std::vector<Array<Index>> first(layers.size());
  for_layers(first.size(), [&](std::size_t k) { first[k] = first_equal_rows(layers[k]); });
  return first;
}

}  // namespace spdnn::planning
