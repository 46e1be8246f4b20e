#pragma once

// Saves active images to device memory at the end of a launch (after the last launch only for activations()), and loads
// those of the first launch in the second. In between, the pass `identical` finds duplicates: save_survivors() offers
// each row, and load_survivors() compares it with at most one candidate and drops it if they are equal.

#include "engines/cuda/cascade/wave.cuh"
#include "engines/cuda/retire/offered_duplicates.cuh"

namespace spdnn::cuda::cascade {

/// A run has one search for duplicates.
inline constexpr Index kSide = 0;
/// Its table keeps keys of earlier runs, which are smaller.
__device__ inline Index epoch_of(const LaunchArgs& args) { return __ldcg(args.runs) + 1; }

/// Whether this thread's image, of row `row` if it `exists`, equals its candidate; if so, lists it. By whole warps with
/// consecutive rows.
__device__ inline bool is_duplicate(const LaunchArgs& args, Index width, Index row, bool exists, std::uint32_t hash,
                                    Index image) {
  const Survivors& in = args.in;
  const Index lane = threadIdx.x % 32;
  const Index other = exists ? candidate_for(args.search, kSide, epoch_of(args), row, hash) : row;
  const std::uint32_t candidates = __ballot_sync(0xffffffffU, other != row);
  if (candidates == 0) return false;
  const unsigned long long entries = take_entries(args.search, candidates);
  const Index owner = other != row ? __ldcg(in.images + other) : kNoImage;
  const std::uint32_t differing = differing_rows(
      in.rows, in.stride, width, row - lane, candidates,
      [&](Index i) { return __shfl_sync(0xffffffffU, other, static_cast<int>(i)); }, lane, 32);
  const std::uint32_t duplicates = candidates & ~__reduce_or_sync(0xffffffffU, differing);
  list_duplicates(args.search, entries, candidates, duplicates, image, owner, args.first,
                  &args.tallies[args.first].duplicates);
  return (duplicates >> lane & 1U) != 0;
}

/// Loads the survivors first .. first+count-1 of the previous launch; duplicates are not active. A thread takes four
/// neurons of an image at a time. Ends with note_active().
__device__ inline void load_survivors(BlockContext& block, Index width, Index first, Index count, Wave& wave) {
  const Survivors& in = block.args.in;
  const bool exists = threadIdx.x < count;
  const Index row = first + threadIdx.x;
  const bool searching = block.args.search.list != nullptr;
  Index image = exists ? __ldcg(in.images + row) : kNoImage;
  const std::uint32_t hash = searching && exists ? __ldcg(block.args.search.hashes[kSide] + row) : 0;
  wave.shift = shift_for(count, block.program.columns);
  const Index column = threadIdx.x & (wave.columns() - 1);
  for (; wave.slots() < count; ++wave.groups) {
    const Index slot = wave.slots() + column;
    const Index region = block.memory.take();
    wave.put(wave.groups, region);
    const auto* row = reinterpret_cast<const float4*>(in.rows + (std::size_t{first} + slot) * in.stride);
    float* to = block.memory.at(region) + column;
#pragma unroll 4
    for (Index neuron = threadIdx.x >> wave.shift << 2; neuron < width; neuron += kThreads >> wave.shift << 2) {
      const float4 four = slot < count ? __ldcg(row + neuron / 4) : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      const float y[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (Index k = 0; k < 4; ++k)
        if (neuron + k < width) to[(neuron + k) << wave.shift] = y[k];
    }
  }
  if (searching && is_duplicate(block.args, width, row, exists, hash, image)) image = kNoImage;
  if (threadIdx.x < wave.slots()) block.shared.image[threadIdx.x] = image;
  wave.active = note_active(wave, block.shared);
}

/// Writes a wave's active images to `out`. Four threads per image, so that a warp's reads are of several banks. Begins
/// with a barrier: other threads may still read the results of note_active() after the last layer.
__device__ inline void save_survivors(BlockContext& block, Index width, const Wave& wave) {
  constexpr Index kTogether = 4;
  const Survivors& out = block.args.out;
  const bool offered = block.args.search.list != nullptr && block.args.first == 0;
  __syncthreads();
  if (threadIdx.x == 0) block.shared.next[1] = atomicAdd(out.count, wave.active);
  note_active(wave, block.shared);
  list_active(wave, block.shared);
  const Index place = block.shared.next[1];
  if (threadIdx.x < wave.active) out.images[place + threadIdx.x] = block.shared.image[block.shared.order[threadIdx.x]];
  for (Index first = 0; first < wave.active; first += kThreads / kTogether) {
    const Index i = first + threadIdx.x / kTogether;
    const bool exists = i < wave.active;
    const Index slot = block.shared.order[exists ? i : 0];
    const float* from = block.memory.at(wave.region(slot >> wave.shift)) + (slot & (wave.columns() - 1));
    float* row = out.rows + std::size_t{place + i} * out.stride;
    std::uint32_t sum = 0;
#pragma unroll 4
    for (Index neuron = threadIdx.x % kTogether * 4; neuron < width && exists; neuron += 4 * kTogether) {
      float y[4];
#pragma unroll
      for (Index k = 0; k < 4; ++k) {
        const bool within = neuron + k < width;
        y[k] = within ? from[(neuron + k) << wave.shift] : 0.0F;
        sum += within ? row_hash_share(neuron + k, y[k]) : 0;
      }
      __stcg(reinterpret_cast<float4*>(row + neuron), make_float4(y[0], y[1], y[2], y[3]));
    }
    if (!offered) continue;
#pragma unroll
    for (Index step = 1; step < kTogether; step *= 2) sum += __shfl_xor_sync(0xffffffffU, sum, static_cast<int>(step));
    if (exists && threadIdx.x % kTogether == 0)
      offer_row(block.args.search, kSide, epoch_of(block.args), place + i, row_hash(sum));
  }
}

}  // namespace spdnn::cuda::cascade
