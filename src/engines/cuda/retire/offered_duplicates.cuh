#pragma once

// The pass `identical` in kernels that run many layers: images with equal rows become one image where rows pass from
// one launch to the next, without synchronisation.
//
// A row that is written for the next launch is *offered*: its hash is kept, and the hash's table entry is set to the
// row's key, unless it has a larger one. When the next launch reads the row and the entry has the key of another row of
// equal hash bits, that row is its *candidate*, with which it is compared in full. The row with the largest key finds
// itself: so an owner is never a duplicate, and one of several equal rows remains. Rows whose entry belongs to rows of
// another hash are skipped. Cost: one or two multiplications per activation that is written, one atomic per row, and
// two dependent reads from L2 per row that is read.
//
// At the end the last block processes the list of duplicates: each gets the final state of its owner, and counts as
// alive while its owner does.

#include <cuda_runtime_api.h>

#include "engines/cuda/retire/duplicate_search.hpp"

namespace spdnn::cuda {

/// One activation's share of its row's hash. Shares are added in any order. Rounded activations differ in their high
/// bits, which come first.
__device__ inline std::uint32_t row_hash_share(Index neuron, float y) {
  const std::uint32_t bits = __float_as_uint(y);
  const std::uint32_t x = (__funnelshift_l(bits, bits, 16) + neuron * 0x9e3779b1U) * 0x85ebca6bU;
  return x ^ x >> 15U;
}

/// The hash of a row from the sum of its shares.
__device__ inline std::uint32_t row_hash(std::uint32_t sum) {
  sum = (sum ^ sum >> 16U) * 0x7feb352dU;
  sum = (sum ^ sum >> 15U) * 0x846ca68bU;
  return sum ^ sum >> 16U;
}

/// `epoch`: number of the search, from 1; later keys are larger. Within a search, first come bits of the hash.
__device__ inline unsigned long long row_key(const DuplicateSearch& search, Index epoch, Index row,
                                             std::uint32_t hash) {
  return static_cast<unsigned long long>(epoch) << 32U | (hash & ~search.row_mask) | row;
}

__device__ inline unsigned long long* table_entry(const DuplicateSearch& search, Index side, std::uint32_t hash) {
  return search.tables[side] + (hash & (2 * search.row_mask + 1));
}

__device__ inline void offer_row(const DuplicateSearch& search, Index side, Index epoch, Index row,
                                 std::uint32_t hash) {
  __stcg(search.hashes[side] + row, hash);
  atomicMax(table_entry(search, side, hash), row_key(search, epoch, row, hash));
}

/// The row that this one, of hash `hash`, may be equal to; itself where there is none.
__device__ inline Index candidate_for(const DuplicateSearch& search, Index side, Index epoch, Index row,
                                      std::uint32_t hash) {
  const unsigned long long differs = __ldcg(table_entry(search, side, hash)) ^ row_key(search, epoch, row, hash);
  return differs <= search.row_mask ? row ^ static_cast<Index>(differs) : row;
}

__device__ inline bool equal_quads(float4 a, float4 b, Index count) {
  return a.x == b.x && (count < 2 || a.y == b.y) && (count < 3 || a.z == b.z) && (count < 4 || a.w == b.w);
}

/// The bits i in `candidates` for which rows first + i and other_of(i) differ, as far as thread `member` of
/// `members` sees. Rows begin on 16-byte bounds; several are read at a time.
template <class OtherOf>
__device__ std::uint32_t differing_rows(const float* rows, std::size_t stride, Index width, Index first,
                                        std::uint32_t candidates, OtherOf other_of, Index member, Index members) {
  constexpr int kTogether = 4;
  std::uint32_t differing = 0;
  for (std::uint32_t left = candidates; left != 0;) {
    Index number[kTogether];
    const float* mine[kTogether];
    const float* other[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      number[k] = left != 0 ? __ffs(static_cast<int>(left)) - 1 : number[0];
      left &= left - 1;
      mine[k] = rows + (std::size_t{first} + number[k]) * stride;
      other[k] = rows + std::size_t{other_of(number[k])} * stride;
    }
    for (Index neuron = 4 * member; neuron < width; neuron += 4 * members) {
      float4 a[kTogether];
      float4 b[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        a[k] = __ldcg(reinterpret_cast<const float4*>(mine[k] + neuron));
        b[k] = __ldcg(reinterpret_cast<const float4*>(other[k] + neuron));
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (!equal_quads(a[k], b[k], width - neuron)) differing |= 1U << number[k];
    }
  }
  return differing;
}

/// Takes entries of the list for a warp's `rows`; lane 0 has the first one's number. With a single search, it may do so
/// for all candidates before they are compared, to avoid waiting; for several searches, a list with one entry per image
/// would be too short.
__device__ inline unsigned long long take_entries(const DuplicateSearch& search, std::uint32_t rows) {
  if (threadIdx.x % 32 != 0) return 0;
  return atomicAdd(search.listed, static_cast<unsigned long long>(__popc(rows)));
}

/// Fills the entries of a warp's `rows`: the `duplicates` among them are not computed from `layer` on. `image` and
/// `owner`: of this lane. `counter`: LayerCount::duplicates of the layer.
template <class Counter>
__device__ void list_duplicates(const DuplicateSearch& search, unsigned long long entries, std::uint32_t rows,
                                std::uint32_t duplicates, Index image, Index owner, Index layer, Counter* counter) {
  const Index lane = threadIdx.x % 32;
  const Index first = static_cast<Index>(__shfl_sync(0xffffffffU, entries, 0));
  if (lane == 0 && duplicates != 0) {
    atomicAdd(search.duplicates, static_cast<Index>(__popc(duplicates)));
    atomicAdd(counter, static_cast<Counter>(__popc(duplicates)));
  }
  if ((rows >> lane & 1U) == 0) return;
  const bool is_duplicate = (duplicates >> lane & 1U) != 0;
  search.list[first + __popc(rows & ((1U << lane) - 1))] = {is_duplicate ? image : kNoImage, owner, layer};
  if (is_duplicate) search.endings[image] = {owner, layer};
}

__device__ inline bool bit_of(const std::uint32_t* words, Index image) {
  return (__ldcg(words + image / 32) >> (image % 32) & 1U) != 0;
}

__device__ inline void set_bit(std::uint32_t* words, Index image) { atomicOr(words + image / 32, 1U << (image % 32)); }

/// Records an image's end, `layer` as in Ending.
__device__ inline void end_image(const DuplicateSearch& search, Index image, Index layer) {
  search.endings[image] = {image, layer};
}

/// Records that an image is all zero after `layer` and is not retired.
__device__ inline void mark_zero_at_layer(const DuplicateSearch& search, Index image, Index layer) {
  set_bit(search.zero_at + std::size_t{layer} * search.zero_words, image);
}

__device__ inline Ending ending_of(const DuplicateSearch& search, Index image) {
  const uint2 ending = __ldcg(reinterpret_cast<const uint2*>(search.endings + image));
  return {ending.x, ending.y};
}

/// Retires the images of the list's first `entries`, once all blocks are done: by the threads of one block. `by_layer`:
/// LayerCount::duplicates is the change, from one layer to the next, of the number of living duplicates. Not inlined,
/// to save registers.
template <class LayerCount>
__device__ __noinline__ void retire_duplicates(const DuplicateSearch& search, Index entries, Index depth,
                                               LayerCount* by_layer, std::uint32_t* categories,
                                               std::uint32_t* borderline) {
  const auto change = [&](Index layer, int by) {
    using Counter = decltype(by_layer->duplicates);
    if (layer < depth) atomicAdd(&by_layer[layer].duplicates, static_cast<Counter>(by));
  };
  for (Index i = threadIdx.x; i < entries; i += blockDim.x) {
    const uint4 duplicate = __ldcg(reinterpret_cast<const uint4*>(search.list + i));
    const Index image = duplicate.x;
    if (image == kNoImage) continue;
    Ending own{duplicate.y, duplicate.z};
    bool category = false;
    bool open = false;
    for (Index owner = kNoImage; own.owner != owner;) {
      owner = own.owner;
      const Index first = own.layer;
      own = ending_of(search, owner);
      category = bit_of(categories, owner);
      open = borderline != nullptr && bit_of(borderline, owner);
      for (Index layer = first; layer < min(own.layer, search.zero_layers); ++layer) {
        if (!bit_of(search.zero_at + std::size_t{layer} * search.zero_words, owner)) continue;
        change(layer, -1);
        change(layer + 1, 1);
      }
    }
    change(own.layer, -1);
    if (category) set_bit(categories, image);
    if (open) set_bit(borderline, image);
  }
}

}  // namespace spdnn::cuda
