#pragma once

// Loads tiles of the `resident` engine into shared memory (from bits, CSR, rows by image, or another block) and stores
// them.

#include "engines/cuda/resident/phase.cuh"
#include "engines/cuda/retire/offered_duplicates.cuh"

namespace spdnn::cuda::resident {

/// Rows of zeros: bank_groups() slots, 128 bytes in all.
template <class C>
__device__ void clear_zero_slots(const LayoutView& layout, typename C::Stored* tile) {
  if (threadIdx.x < C::kShape.bank_groups() * C::kImages)
    tile[std::size_t{layout.zero_slot} * C::kImages + threadIdx.x] = to_stored<typename C::Stored>(0.0F);
}

/// Transposes bits: lane i's bit k becomes lane k's bit i, by swapping squares of 16, 8, 4, 2, 1 bits.
__device__ inline std::uint32_t transposed(std::uint32_t word) {
  const Index lane = threadIdx.x % 32;
  std::uint32_t low = 0x0000ffffU;
#pragma unroll
  for (Index size = 16; size > 0; size /= 2, low ^= low << size) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffU, word, size);
    word = (lane & size) == 0 ? (word & low) | (other & low) << size : (word & ~low) | (other >> size & low);
  }
  return word;
}

/// Tile from input bits: 32 images' words become 32 inputs' words, kBatch at a time, neighbours in memory. Rows of
/// images that do not exist are 0.
template <class C>
__device__ void load_bits(const Block<C>& block, Index tile_number) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  constexpr Index kGroups = 32 / C::kImages;  // words of an image that a warp transposes together
  constexpr Index kBatch = 4;
  const Index lane = threadIdx.x % 32;
  const Index inputs = layout.layers[0].inputs;
  const std::size_t image = std::size_t{tile_number} * C::kImages + lane % C::kImages;
  auto* rows = reinterpret_cast<typename C::Bits*>(tile);
  constexpr Index kStep = kBatch * kGroups;
  for (std::size_t first = threadIdx.x / 32 * kStep; first * 32 < inputs; first += C::kWarps * kStep) {
    std::uint32_t words[kBatch];
#pragma unroll
    for (Index k = 0; k < kBatch; ++k) {
      const std::size_t mine = first + k * kGroups + lane / C::kImages;
      words[k] = mine < batch.words && image < phase.images ? __ldg(batch.bits + image * batch.words + mine) : 0U;
    }
#pragma unroll
    for (Index k = 0; k < kBatch; ++k) {
      const std::uint32_t turned = transposed(words[k]);
#pragma unroll
      for (Index group = 0; group < kGroups; ++group) {
        const std::size_t input = (first + k * kGroups + group) * 32 + lane;
        if (input < inputs) rows[input] = static_cast<typename C::Bits>(turned >> (group * C::kImages));
      }
    }
  }
  if (threadIdx.x == 0) rows[inputs] = 0;
}

/// Tile from input rows in CSR. Repeated entries of a neuron are added.
template <class C>
__device__ void load_sparse(const Block<C>& block, Index tile_number) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  for (Index i = threadIdx.x; i < layout.slots * C::kImages; i += C::kThreads)
    tile[i] = to_stored<typename C::Stored>(0.0F);
  __syncthreads();
  for (Index m = threadIdx.x / 32; m < C::kImages; m += C::kWarps) {
    const std::size_t image = std::size_t{tile_number} * C::kImages + m;
    if (image >= phase.images) break;
    for (Offset k = batch.offsets[image] + threadIdx.x % 32; k < batch.offsets[image + 1]; k += 32) {
      const Index input = batch.indices[k];
      const auto value = to_stored<typename C::Stored>(batch.values != nullptr ? batch.values[k] : batch.value);
      atomicAdd(tile + std::size_t{input} * C::kImages + m, value);
      const Index replica = C::kReplicas ? layout.replicas[input] : kNoReplica;
      if (replica != kNoReplica) atomicAdd(tile + std::size_t{replica} * C::kImages + m, value);
    }
  }
}

/// Tile from rows by image. A thread reads 4 neurons at a time, two neighbouring threads 8 of the same row, and has
/// kBatch reads in flight.
template <class C>
__device__ void load_rows(const Block<C>& block, Index tile_number) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  constexpr Index kBatch = C::kThreads * C::kBlocks > 512 ? 4 : 8;
  static_assert(C::kThreads % (2 * C::kImages) == 0);
  const Index width = layout.layers[phase.first].inputs;
  const std::uint16_t* replicas = layout.replicas + std::size_t{phase.first} * layout.width;
  const Index m = threadIdx.x / 2 % C::kImages;
  const std::size_t row = std::size_t{tile_number} * C::kImages + m;
  const float* from = batch.rows[phase.side] + row * batch.stride;
  constexpr Index kStep = C::kThreads / C::kImages * 4;
  for (Index begin = (threadIdx.x / (2 * C::kImages) * 2 + threadIdx.x % 2) * 4; begin < width;
       begin += kBatch * kStep) {
    float4 fours[kBatch] = {};
#pragma unroll
    for (Index i = 0; i < kBatch; ++i) {
      const Index first = begin + i * kStep;
      if (first < width && row < phase.images) fours[i] = __ldcg(reinterpret_cast<const float4*>(from + first));
    }
#pragma unroll
    for (Index i = 0; i < kBatch; ++i) {
      const Index first = begin + i * kStep;
      const float y[4] = {fours[i].x, fours[i].y, fours[i].z, fours[i].w};
      Index replica[4];
#pragma unroll
      for (Index k = 0; k < 4; ++k)
        replica[k] = C::kReplicas ? __ldg(replicas + min(first + k, width - 1)) : kNoReplica;
#pragma unroll
      for (Index k = 0; k < 4; ++k) {
        if (first + k >= width) continue;
        const auto stored = to_stored<typename C::Stored>(y[k]);
        tile[(first + k) * C::kImages + m] = stored;
        if (C::kReplicas && replica[k] != kNoReplica) tile[replica[k] * C::kImages + m] = stored;
      }
    }
  }
}

/// Tile from the block that ran its first layers.
template <class C>
__device__ void load_segment(const Block<C>& block, Index tile_number, Index layer) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  const std::uint16_t* replicas = layout.replicas + std::size_t{layer} * layout.width;
  const auto* from = reinterpret_cast<const typename C::Wide*>(batch.rows[phase.side] +
                                                               std::size_t{tile_number} * C::kImages * batch.stride);
  auto* rows = reinterpret_cast<typename C::Wide*>(tile);
  const Index count = layout.layers[layer].inputs * C::kPitch;
#pragma unroll 8
  for (Index i = threadIdx.x; i < count; i += C::kThreads) {
    const auto y = __ldcg(from + i);
    rows[i] = y;
    const Index replica = C::kReplicas ? replicas[i / C::kPitch] : kNoReplica;
    if (replica != kNoReplica) rows[replica * C::kPitch + i % C::kPitch] = y;
  }
}

template <class C>
__device__ void save_segment(const Block<C>& block, Index tile_number, Index width) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  auto* to = reinterpret_cast<typename C::Wide*>(batch.rows[phase.side] +
                                                 std::size_t{tile_number} * C::kImages * batch.stride);
  const auto* rows = reinterpret_cast<const typename C::Wide*>(tile);
  for (Index i = threadIdx.x; i < width * C::kPitch; i += C::kThreads) __stcg(to + i, rows[i]);
}

/// Appends the tile's active images to the next phase's rows, in the order in which tiles finish.
template <class C>
__device__ void append_images(const Block<C>& block, Index width, Index image, std::uint32_t kept) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  if (threadIdx.x == 0) scratch.place = atomicAdd(&batch.control->appended, static_cast<Index>(__popc(kept)));
  __syncthreads();
  const auto row_of = [&](Index m) { return scratch.place + __popc(kept & ((1U << m) - 1)); };
  if (threadIdx.x < C::kImages && (kept >> threadIdx.x & 1U) != 0)
    batch.ids[1 - phase.side][row_of(threadIdx.x)] = image;
  for (Index i = threadIdx.x; i < (width + 3) / 4 * C::kImages; i += C::kThreads) {
    const Index m = i % C::kImages;
    if ((kept >> m & 1U) == 0) continue;
    const Index first = i / C::kImages * 4;
    const typename C::Stored* from = tile + first * C::kImages + m;
    __stcg(reinterpret_cast<float4*>(batch.rows[1 - phase.side] + std::size_t{row_of(m)} * batch.stride + first),
           make_float4(to_float(from[0]), to_float(from[C::kImages]), to_float(from[2 * C::kImages]),
                       to_float(from[3 * C::kImages])));
  }
}

/// Offers the rows of the tile that append_images() has just written to the next phase's search for duplicates. Not
/// inlined, to save registers.
template <class C>
__device__ __noinline__ void offer_rows(const BatchView& batch, const Phase phase, Index width, std::uint32_t kept,
                                        Scratch& scratch, const typename C::Stored* tile) {
  static_assert(C::kThreads % C::kImages == 0);
  if (threadIdx.x < 32) scratch.hashes[threadIdx.x] = 0;
  __syncthreads();
  const Index m = threadIdx.x % C::kImages;
  std::uint32_t sum = 0;
  for (Index neuron = threadIdx.x / C::kImages; neuron < width; neuron += C::kThreads / C::kImages)
    sum += row_hash_share(neuron, to_float(tile[neuron * C::kImages + m]));
#pragma unroll
  for (Index apart = 16; apart >= C::kImages; apart /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, apart);
  if (threadIdx.x % 32 < C::kImages) atomicAdd(&scratch.hashes[m], sum);
  __syncthreads();
  if (threadIdx.x < C::kImages && (kept >> m & 1U) != 0)
    offer_row(batch.search, 1 - phase.side, phase.epoch, scratch.place + __popc(kept & ((1U << m) - 1)),
              row_hash(scratch.hashes[m]));
}

template <class C>
__device__ void load_tile(const Block<C>& block, Index tile_number, Index layer) {
  const auto& [layout, batch, phase, scratch, tile] = block;
  if (layer == 0 && batch.bits != nullptr) {
    load_bits<C>(block, tile_number);
    return;
  }
  if (layer == 0)
    load_sparse<C>(block, tile_number);
  else if (layer == phase.first)
    load_rows<C>(block, tile_number);
  else
    load_segment<C>(block, tile_number, layer);
  clear_zero_slots<C>(layout, tile);
}

}  // namespace spdnn::cuda::resident
