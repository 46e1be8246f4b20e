#pragma once

// How images of the `cascade` engine come into shared memory, from counts or from an earlier launch, and how they leave
// it.

#include "engines/cuda/cascade_layer.cuh"
#include "engines/cuda/copies.cuh"

namespace spdnn::cuda::cascade {

/// What layer 0 makes of each count, before it is cut off at 0 and the cap: Z + bias where all neurons have one bias,
/// otherwise Z.
__device__ inline void tabulate(const Program& program, Shared& shared) {
  const CascadeLayer& layer = shared.layer(0);
  for (Index i = threadIdx.x; i < program.sum_count; i += kThreads) {
    const float z = program.sums[i];
    const bool with_bias = layer.biases == CascadeLayer::kNone && (layer.plain != 0 || z != 0.0F);
    shared.sums[i] = with_bias ? z + layer.bias : z;
  }
}

/// Four neurons of an image come in behind layer 0, from their counts.
__device__ inline void load_quad(const Program& program, const CascadeLayer& layer, std::uint32_t counts, Index neuron,
                                 Index shift, float* to, Range<1>& range, const Shared& shared) {
#pragma unroll
  for (Index k = 0; k < 4; ++k, ++neuron) {
    if (neuron >= layer.outputs) return;
    Columns<1> sum{{shared.sums[counts >> (8 * k) & 255U]}};
    if (layer.biases == CascadeLayer::kNone) {
      range.add(0, sum.at[0]);
      sum.at[0] = fminf(fmaxf(sum.at[0], 0.0F), program.activation.cap);
    } else {
      activate(program, layer, __ldg(program.biases + layer.biases + neuron), sum, range);
    }
    sum.write(to + (neuron << shift));
  }
}

/// Images first .. first+count-1 come in behind layer 0. A thread takes four neurons of an image at a time, and their
/// counts several times ahead, as they come from far. Ends with a barrier.
__device__ inline void load_counts(const Program& program, const Batch& batch, Index first, Index count, Set& set,
                                   Memory& memory, Shared& shared) {
  constexpr Index kAhead = 4;
  const CascadeLayer layer = shared.layer(0);
  set.shift = shift_for(count, program.columns);
  set.groups = 0;
  const Index column = threadIdx.x & (set.columns() - 1);
  const Index step = kThreads >> set.shift;
  for (; set.slots() < count; ++set.groups) {
    const Index slot = set.slots() + column;
    const Index region = memory.take();
    set.put(set.groups, region);
    const auto* counts = reinterpret_cast<const std::uint32_t*>(batch.counts + (first + slot) * batch.stride);
    Range<1> range;
    for (Index quad = threadIdx.x >> set.shift; quad * 4 < layer.outputs; quad += kAhead * step) {
      std::uint32_t four[kAhead];
#pragma unroll
      for (Index k = 0; k < kAhead; ++k)
        four[k] = slot < count && (quad + k * step) * 4 < layer.outputs ? __ldcs(counts + quad + k * step) : 0;
#pragma unroll
      for (Index k = 0; k < kAhead; ++k)
        load_quad(program, layer, four[k], (quad + k * step) * 4, set.shift, memory.at(region) + column, range, shared);
    }
    range.mark(slot, program.activation.cap, shared);
  }
  if (threadIdx.x < set.slots()) shared.image[threadIdx.x] = threadIdx.x < count ? first + threadIdx.x : kNever;
  __syncthreads();
}

/// The search for copies is the only one of a run.
inline constexpr Index kSide = 0;
inline constexpr Index kEpoch = 1;

/// Finds out whether this thread's image, of row `row` if it `exists`, is a copy, and lists it. By whole warps whose
/// threads' rows follow one another.
__device__ inline bool becomes_copy(const Batch& batch, Index width, Index row, bool exists, std::uint32_t hash,
                                    Index image) {
  const Survivors& in = batch.in;
  const Index lane = threadIdx.x % 32;
  const Index other = exists ? candidate_for(batch.search, kSide, kEpoch, row, hash) : row;
  const std::uint32_t candidates = __ballot_sync(0xffffffffU, other != row);
  if (candidates == 0) return false;
  const unsigned long long entries = take_entries(batch.search, candidates);
  const Index owner = other != row ? __ldcg(in.images + other) : kNoImage;
  const std::uint32_t differing = differing_rows(
      in.rows, in.stride, width, row - lane, candidates,
      [&](Index i) { return __shfl_sync(0xffffffffU, other, static_cast<int>(i)); }, lane, 32);
  const std::uint32_t copies = candidates & ~__reduce_or_sync(0xffffffffU, differing);
  list_copies(batch.search, entries, candidates, copies, image, owner, batch.first,
              &batch.by_layer[batch.first].copies);
  return (copies >> lane & 1U) != 0;
}

/// Survivors first .. first+count-1 of an earlier launch come in; with the pass `identical`, copies of others do not
/// count as kept. A thread takes four neurons of an image at a time. Ends with a barrier.
__device__ inline void load_rows(const Program& program, const Batch& batch, Index width, Index first, Index count,
                                 Set& set, Memory& memory, Shared& shared) {
  const Survivors& in = batch.in;
  const bool exists = threadIdx.x < count;
  const Index row = first + threadIdx.x;
  const bool searching = batch.search.list != nullptr;
  Index image = exists ? __ldcg(in.images + row) : kNever;
  const std::uint32_t hash = searching && exists ? __ldcg(batch.search.hashes[kSide] + row) : 0;
  set.shift = shift_for(count, program.columns);
  const Index column = threadIdx.x & (set.columns() - 1);
  for (; set.slots() < count; ++set.groups) {
    const Index slot = set.slots() + column;
    const Index region = memory.take();
    set.put(set.groups, region);
    const auto* row = reinterpret_cast<const float4*>(in.rows + (std::size_t{first} + slot) * in.stride);
    float* to = memory.at(region) + column;
#pragma unroll 4
    for (Index neuron = threadIdx.x >> set.shift << 2; neuron < width; neuron += kThreads >> set.shift << 2) {
      const float4 four = slot < count ? __ldcg(row + neuron / 4) : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      const float y[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (Index k = 0; k < 4; ++k)
        if (neuron + k < width) to[(neuron + k) << set.shift] = y[k];
    }
  }
  if (searching && becomes_copy(batch, width, row, exists, hash, image)) image = kNever;
  if (threadIdx.x < set.slots()) shared.image[threadIdx.x] = image;
  set.kept = note_kept(set, shared);
}

/// A set's images leave. Begins with a barrier: note_kept() of the layer before may still be read.
__device__ inline void save_rows(const Batch& batch, Index width, const Set& set, const Memory& memory,
                                 Shared& shared) {
  const Survivors& out = batch.out;
  const bool offered = batch.search.list != nullptr && batch.first == 0;
  __syncthreads();
  if (threadIdx.x == 0) shared.next[1] = atomicAdd(out.count, set.kept);
  note_kept(set, shared);
  list_kept(set, shared);
  const Index place = shared.next[1];
  if (threadIdx.x < set.kept) out.images[place + threadIdx.x] = shared.image[shared.order[threadIdx.x]];
  for (Index i = threadIdx.x / 32; i < set.kept; i += kThreads / 32) {
    const Index slot = shared.order[i];
    const float* from = memory.at(set.region(slot >> set.shift)) + (slot & (set.columns() - 1));
    float* row = out.rows + std::size_t{place + i} * out.stride;
    std::uint32_t sum = 0;
    for (Index neuron = threadIdx.x % 32; neuron < width; neuron += 32) {
      const float y = from[neuron << set.shift];
      __stcg(row + neuron, y);
      if (offered) sum += row_hash_share(neuron, y);
    }
    if (!offered) continue;
    sum = __reduce_add_sync(0xffffffffU, sum);
    if (threadIdx.x % 32 == 0) offer_row(batch.search, kSide, kEpoch, place + i, row_hash(sum));
  }
}

}  // namespace spdnn::cuda::cascade
