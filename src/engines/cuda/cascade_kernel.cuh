#pragma once

// The kernel of the `cascade` engine: a block takes a *wave* of images, as many as its shared memory holds, and keeps
// what is left of them there from layer to layer, moving them together whenever that saves columns. Made for plans that
// twins have narrowed and images that mostly settle within a few layers.
//
// Work. Two launches. The first runs all images through the first layers, wave after wave; its survivors go to device
// memory. The second deals them out evenly, drops copies of others (copies.cuh) and runs the rest to the end. Blocks
// never wait for one another; the last to finish writes what the host wants to know into the host's memory.
//
// Mapping. A region of shared memory has a row for each neuron, one column an image. A thread computes a neuron for up
// to four neighbouring columns; threads of a warp share a neuron's terms, which come from L2. A layer goes region by
// region, each into the free one, which leaves its own free for the next.
//
// Bound: where twins leave sums of a, b, a, b, ... (the first layers of the official networks) fp32 FMA, two shared
// memory reads for all of them; behind these shared memory; for the last images the latency of a layer. On an H200 the
// first launch reaches 21 to 27 % of the FMA floor from 4096 neurons on, two of three instructions being others;
// results/h200/roofline.md has the account. With nothing merged and all images alive, at 1024 neurons, ncu saw shared
// memory 83 % busy.

#include "engines/cuda/cascade_images.cuh"

namespace spdnn::cuda::cascade {

/// Bytes of a layer's terms that L1 takes beside the shared memory.
inline constexpr Index kPrefetched = std::uint32_t{8} << 10U;

/// Brings a layer's description into shared memory; visible after wait_for_copies() and a barrier. The last warp does
/// it: it is the first to have nothing else to do.
__device__ inline void fetch_layer(const Program& program, Index layer, Shared& shared) {
  static_assert(sizeof(CascadeLayer) % 16 == 0);
  const Index part = threadIdx.x - (kThreads - 32);
  if (layer < program.depth && part < sizeof(CascadeLayer) / 16)
    copy_async<16>(reinterpret_cast<uint4*>(&shared.layers[layer % kLayersKnown]) + part,
                   reinterpret_cast<const uint4*>(program.layers + layer) + part);
}

/// Brings a layer's terms into L1, where a few images are left and a layer takes little longer than the way to L2: a
/// copy of one half of each sector to where nobody looks.
__device__ inline void prefetch_terms(const Program& program, Index number, Shared& shared) {
  if (number >= program.depth) return;
  const CascadeLayer& layer = shared.layer(number);
  const Index bytes = layer.pairs > 0 ? layer.outputs * 4 : (layer.degree + 7) / 8 * layer.outputs * 16;
  const Index at = (kThreads - 1 - threadIdx.x) * 32;
  if (bytes > kPrefetched || at >= bytes) return;
  copy_async<16>(shared.sink + threadIdx.x % 32, reinterpret_cast<const char*>(program.terms + layer.terms) + at);
}

/// What becomes of this thread's image, which is kNever where it has none, behind layer `layer`: returns it, or kNever
/// once it has settled. `report`: one of the threads that have the image says so.
__device__ inline Index settle_image(const Program& program, const Batch& batch, Index layer, bool outputs, Index image,
                                     bool live, bool miss, bool report) {
  const bool active = image != kNever;
  const bool saturated =
      active && layer + 1 >= program.saturated_from && program.saturated_from != kNever && outputs && !miss;
  const bool dead = active && layer + 1 >= program.dead_from && program.dead_from != kNever && !live;
  if (report) {
    const bool in_the_end = active && live && !saturated && layer + 1 == program.depth;
    if (saturated || in_the_end) atomicOr(batch.categories + image / 32, 1U << image % 32);
    if (batch.search.endings != nullptr && active) {
      if (saturated || dead || layer + 1 == program.depth)
        end_image(batch.search, image, dead && !saturated ? layer : program.depth);
      if (layer < batch.search.dark_layers && !live && !dead) darken_image(batch.search, image, layer);
    }
    const std::uint32_t lives = __ballot_sync(0xffffffffU, active && live);
    const std::uint32_t saturates = __ballot_sync(0xffffffffU, saturated);
    if (threadIdx.x % 32 == 0 && lives != 0) atomicAdd(&batch.by_layer[layer].live, static_cast<Index>(__popc(lives)));
    if (threadIdx.x % 32 == 0 && saturates != 0)
      atomicAdd(&batch.by_layer[layer].saturated, static_cast<Index>(__popc(saturates)));
  }
  return saturated || dead ? kNever : image;
}

/// Settles a set's images by the marks of layer `layer`, clears these, and notes what is kept. A thread a column. Ends
/// with a barrier.
__device__ inline void settle(const Program& program, const Batch& batch, Index layer, bool outputs, Set& set,
                              Shared& shared) {
  const Index slot = threadIdx.x;
  if (slot / 32 * 32 < set.slots()) {
    const bool exists = slot < set.slots();
    const Index image = exists ? shared.image[slot] : kNever;
    const bool live = exists && shared.live[slot] != 0;
    const bool miss = exists && shared.miss[slot] != 0;
    const Index kept = settle_image(program, batch, layer, outputs, image, live, miss, true);
    if (exists) {
      shared.live[slot] = shared.miss[slot] = 0;
      shared.image[slot] = kept;
    }
  }
  set.kept = note_kept(set, shared);
}

/// How the images of a set with one region and at most 32 columns are followed: by every warp, a lane a column, which
/// takes one barrier a layer instead of two. Marks go to three places in turn: one is written, one read, one cleared.
struct Narrow {
  bool on = false;
  Index image = kNever;  ///< of this thread's lane
  Index place = 0;       ///< where marks go

  __device__ void enter(const Set& set, const Shared& shared) {
    const Index lane = threadIdx.x % 32;
    image = lane < set.columns() ? shared.image[lane] : kNever;
    place = 0;
    on = true;
  }
  /// settle(), for these.
  __device__ void settle(const Program& program, const Batch& batch, bool outputs, Set& set, Shared& shared) {
    const Index lane = threadIdx.x % 32;
    image = settle_image(program, batch, set.layer, outputs, image, shared.live[place + lane] != 0,
                         shared.miss[place + lane] != 0, threadIdx.x < 32);
    set.kept = __popc(__ballot_sync(0xffffffffU, image != kNever));
    const Index last = place == 0 ? 64 : place - 32;
    if (threadIdx.x < 32) shared.live[last + lane] = shared.miss[last + lane] = 0;
    place = place == 64 ? 0 : place + 32;
  }
  /// Leaves Shared as settle() does.
  __device__ void leave(const Set& set, Shared& shared) {
    const std::uint32_t mask = __ballot_sync(0xffffffffU, image != kNever);
    __syncthreads();
    if (threadIdx.x < 96) shared.live[threadIdx.x] = shared.miss[threadIdx.x] = 0;
    if (threadIdx.x < set.columns()) shared.image[threadIdx.x] = image;
    if (threadIdx.x == 0) shared.kept[0] = mask;
    on = false;
    __syncthreads();
  }
};

/// Runs a set on to layer `until`, or until its images are settled. Behind settle() or load_rows(); the set's layer and
/// the next are being fetched.
__device__ inline void run(const Program& program, const Batch& batch, Set& set, Memory& memory, Shared& shared) {
  wait_for_copies();
  __syncthreads();
  if (saves_columns(set, program.columns) && set.layer < batch.until)
    compact(set, shared.layer(set.layer).inputs, program.columns, memory, shared);
  Narrow narrow;
  while (set.layer < batch.until && set.kept > 0) {
    if (!narrow.on && set.groups == 1 && set.shift <= 5) narrow.enter(set, shared);
    fetch_layer(program, set.layer + 2, shared);
    if (narrow.on) prefetch_terms(program, set.layer + 1, shared);
    const bool outputs = shared.layer(set.layer).outputs > 0;
    run_layer(program, narrow.place, set, memory, shared);
    if (narrow.on)
      narrow.settle(program, batch, outputs, set, shared);
    else
      settle(program, batch, set.layer, outputs, set, shared);
    ++set.layer;
    if (!saves_columns(set, program.columns)) continue;
    if (narrow.on) narrow.leave(set, shared);
    compact(set, shared.layer(set.layer - 1).outputs, program.columns, memory, shared);
  }
  if (narrow.on) narrow.leave(set, shared);
}

/// Takes the next images, at most `most`, behind the `dealt` ones that blocks begin with; returns the first of them, or
/// what is behind the last.
__device__ inline Index take_images(const Batch& batch, Index most, Index dealt, Index images, Shared& shared) {
  __syncthreads();
  if (dealt >= images) return images;
  if (threadIdx.x == 0) shared.next[0] = min(dealt + atomicAdd(batch.next, most), images);
  __syncthreads();
  return shared.next[0];
}

/// A kernel may start before the one that it follows is done, where the device can do that: here it waits for it, and
/// allows the same to the next.
__device__ inline void follow_on() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

/// The last block of a run settles the copies and hands the results over.
__device__ inline void finish_run(const Program& program, const Batch& batch, Shared& shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned long long before = atomicAdd(batch.results.done, 1ULL << 32U);
    __threadfence();
    shared.next[0] = (before >> 32U) + 1 == gridDim.x ? 1 : 0;
    shared.next[1] = static_cast<Index>(before);
  }
  __syncthreads();
  const Index listed = shared.next[1];
  if (shared.next[0] == 0) return;
  if (listed > 0 && batch.until == program.depth) {
    settle_copies(batch.search, listed, program.depth, batch.by_layer, batch.categories, nullptr);
    __threadfence();
    __syncthreads();
  }
  for (Index i = threadIdx.x; i < batch.results.units; i += kThreads)
    batch.results.to[i] = __ldcg(batch.results.from + i);
}

__global__ void __launch_bounds__(kThreads, 1)
    cascade_kernel(const __grid_constant__ Program program, const __grid_constant__ Batch batch) {
  Shared& shared = block_shared();
  Memory memory{program.region_floats, (1U << program.regions) - 1};
  const bool counted = batch.first == 0;
  for (Index i = threadIdx.x; i < kSlots; i += kThreads) shared.live[i] = shared.miss[i] = 0;
  if (counted) fetch_layer(program, 0, shared);
  wait_for_copies();
  __syncthreads();
  if (counted) tabulate(program, shared);
  follow_on();
  __syncthreads();

  const Index images = counted ? batch.images : __ldcg(batch.in.count);
  const Index room = (program.regions - 1) * program.columns;
  const Index most = min(room, (images + gridDim.x - 1) / gridDim.x);
  const Index dealt = most * gridDim.x;
  for (Index first = most * blockIdx.x; first < images; first = take_images(batch, most, dealt, images, shared)) {
    const Index count = min(most, images - first);
    Set set;
    set.layer = counted ? 1 : batch.first;
    fetch_layer(program, set.layer, shared);
    fetch_layer(program, set.layer + 1, shared);
    if (counted) {
      load_counts(program, batch, first, count, set, memory, shared);
      settle(program, batch, 0, shared.layer(0).outputs > 0, set, shared);
    } else {
      load_rows(program, batch, __ldg(&program.layers[batch.first].inputs), first, count, set, memory, shared);
    }
    run(program, batch, set, memory, shared);
    if (set.kept > 0 && batch.out.rows != nullptr)
      save_rows(batch, __ldg(&program.layers[batch.until - 1].outputs), set, memory, shared);
    memory.give_all(set);
    if (counted) {
      fetch_layer(program, 0, shared);
      wait_for_copies();
    }
  }
  if (batch.results.to != nullptr) finish_run(program, batch, shared);
}

}  // namespace spdnn::cuda::cascade
