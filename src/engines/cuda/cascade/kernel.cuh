#pragma once

// The kernel of the `cascade` engine: a block takes a *wave* of images, as many as its shared memory holds, and keeps
// what is left of them there from layer to layer, moving them together whenever that saves columns. Made for plans that
// twins have narrowed and images that mostly settle within a few layers.
//
// Work. Two launches. The first runs all images through the first layers, wave after wave: layers 0 and 1 from counts
// (tables.cuh), then sums; its survivors go to device memory. The second deals them out evenly, drops copies of
// others (retire/offered_duplicates.cuh) and runs the rest to the end. Blocks never wait for one another; the last to
// finish writes what the host wants to know into the host's memory.
//
// Mapping. A region of shared memory has a row for each neuron, one column an image. A thread computes a neuron for up
// to four neighbouring columns; threads of a warp share a neuron's terms, which come from L2. A layer goes region by
// region, each into the free one, which leaves its own free for the next. Once one region of at most 32 columns is
// left, each warp follows the images by itself and terms are brought to L1 a layer ahead, so that a layer takes one
// barrier.
//
// Bound: where twins leave sums of a, b, a, b, ... (the first layers of the official networks) fp32 FMA, two shared
// memory reads for all of them; behind these shared memory; for the last images the latency of a layer. On an H200 the
// first launch reaches 18 to 24 % of its floor from 4096 neurons on, FMAs 45 to 50 % of their rate within a layer;
// results/h200/roofline.md has the account. With nothing merged and all images alive, at 1024 neurons, ncu saw shared
// memory 83 % busy.

#include "engines/cuda/cascade/survivors.cuh"
#include "engines/cuda/cascade/tables.cuh"

namespace spdnn::cuda::cascade {

/// A layer's description; behind the last layer, any.
__device__ inline CascadeLayer layer_at(const ProgramView& program, Index number) {
  return program.layers[min(number, program.depth - 1)];
}

/// Has the terms of the layer behind `number` come to L1, and the description of the one behind that: where a few
/// images are left, a layer takes little longer than the way to L2. By the last warp, the first to have nothing else to
/// do: it copies four bytes of each sector to where nobody looks.
__device__ inline void prefetch_next_layer(const ProgramView& program, Index number, Shared& shared) {
  if (threadIdx.x < kThreads - 32) return;
  const CascadeLayer layer = layer_at(program, number + 1);
  const auto* terms = reinterpret_cast<const char*>(program.terms + layer.terms);
  const Index bytes = layer.pairs > 0 ? layer.outputs * 4 : (layer.degree + 7) / 8 * layer.outputs * 16;
  const Index lane = threadIdx.x % 32;
  async_copy_wait();  // of the layer before
  if (bytes <= kSector * kMostPrefetched)
    for (Index i = lane; i * kSector < bytes; i += 32) async_copy<4>(shared.prefetched + i, terms + i * kSector);
  const auto* after = reinterpret_cast<const uint4*>(program.layers + min(number + 2, program.depth - 1));
  if (lane < sizeof(CascadeLayer) / sizeof(uint4))
    async_copy<4>(shared.prefetched + kMostPrefetched + lane, after + lane);
}

/// Says what becomes of images whose run ends behind layer `number`. By whole warps, where one of the images `ends`.
__device__ inline void record_ends(const ProgramView& program, const LaunchArgs& args, Index number, Index image,
                                   bool live, bool saturated, bool dead, bool ends) {
  const bool last = number + 1 == program.depth;
  if (saturated || (last && ends && live)) atomicOr(args.categories + image / 32, 1U << image % 32);
  if (ends && args.search.endings != nullptr)
    end_image(args.search, image, dead && !saturated ? number : program.depth);
  const std::uint32_t saturates = __ballot_sync(0xffffffffU, saturated);
  if (threadIdx.x % 32 == 0 && saturates != 0)
    atomicAdd(&args.by_layer[number].saturated, static_cast<Index>(__popc(saturates)));
}

/// What becomes of this thread's image, which is kNoImage where it has none, behind layer `number` of `outputs`
/// neurons: returns it, or kNoImage once it has settled. `report`: one of the threads that have the image says so; by
/// whole warps.
__device__ inline Index retire_image(const ProgramView& program, const LaunchArgs& args, Index number, Index outputs,
                                     Index image, Marks marks, bool report) {
  const bool active = image != kNoImage;
  const bool live = active && marks.live != 0;
  const bool saturated = active && marks.below_cap == 0 && outputs > 0 && number + 1 >= program.saturated_from;
  const bool dead = active && !live && number + 1 >= program.dead_from;
  if (report) {
    const std::uint32_t lives = __ballot_sync(0xffffffffU, live);
    if (threadIdx.x % 32 == 0 && lives != 0) atomicAdd(&args.by_layer[number].live, static_cast<Index>(__popc(lives)));
    const bool ends = active && (saturated || dead || number + 1 == program.depth);
    if (__ballot_sync(0xffffffffU, ends) != 0) record_ends(program, args, number, image, live, saturated, dead, ends);
    if (args.search.endings != nullptr && number < args.search.zero_layers && active && !live && !dead)
      mark_zero_at_layer(args.search, image, number);
  }
  return saturated || dead ? kNoImage : image;
}

/// Settles a wave's images by the marks of layer `number`, clears these, and notes what is kept. A thread a column.
/// Ends with a barrier.
__device__ inline void retire(const ProgramView& program, const LaunchArgs& args, Index number, Index outputs,
                              Wave& wave, Shared& shared) {
  const Index slot = threadIdx.x;
  if (slot / 32 * 32 < wave.slots()) {
    const bool exists = slot < wave.slots();
    const Index kept = retire_image(program, args, number, outputs, exists ? shared.image[slot] : kNoImage,
                                    exists ? shared.marks[slot] : Marks{}, true);
    if (exists) {
      shared.marks[slot] = {};
      shared.image[slot] = kept;
    }
  }
  wave.active = note_active(wave, shared);
}

/// Where the n-th bit that is set stands, from 0; 31 where there is none.
__device__ inline Index place_of_bit(std::uint32_t bits, Index n) {
  Index place = 0;
#pragma unroll
  for (Index half = 16; half > 0; half /= 2) {
    const Index below = __popc(bits >> place & ((1U << half) - 1));
    const bool above = n >= below;
    n -= above ? below : 0;
    place += above ? half : 0;
  }
  return place;
}

/// How the images of a wave with one region and at most 32 columns are followed: by every warp, a lane a column, which
/// takes one barrier a layer. Marks go to three places in turn: one is written, one read, one cleared. The last warp,
/// which is the first to have nothing else to do, reports.
struct NarrowWave {
  bool on = false;
  Index image = kNoImage;  ///< of this thread's lane
  std::uint32_t kept = 0;  ///< lanes whose images are unsettled
  Index marks = 0;         ///< where they go

  __device__ void enter(const Wave& wave, const Shared& shared) {
    const Index lane = threadIdx.x % 32;
    image = lane < wave.columns() ? shared.image[lane] : kNoImage;
    marks = 0;
    on = true;
  }
  /// retire(), for these.
  __device__ void retire(const ProgramView& program, const LaunchArgs& args, Index outputs, Wave& wave,
                         Shared& shared) {
    const Index lane = threadIdx.x % 32;
    image = retire_image(program, args, wave.layer, outputs, image, shared.marks[marks + lane],
                         threadIdx.x >= kThreads - 32);
    kept = __ballot_sync(0xffffffffU, image != kNoImage);
    wave.active = __popc(kept);
    if (threadIdx.x < 32) shared.marks[(marks == 0 ? 64 : marks - 32) + lane] = {};
    marks = marks == 64 ? 0 : marks + 32;
  }
  /// compact(), for these, behind retire(). Ends with a barrier.
  __device__ void compact(Wave& wave, Index width, Memory& memory) {
    const Index shift = shift_for(wave.active, 32);
    const Index column = threadIdx.x & ((1U << shift) - 1);
    const Index from = place_of_bit(kept, column);
    const Index old = wave.region(0);
    const Index region = memory.take();
    if (column < wave.active) {
      const float* source = memory.at(old) + from;
      float* target = memory.at(region) + column;
#pragma unroll 4
      for (Index neuron = threadIdx.x >> shift; neuron < width; neuron += kThreads >> shift)
        target[neuron << shift] = source[neuron << wave.shift];
    }
    image = __shfl_sync(0xffffffffU, image, static_cast<int>(from));
    if (threadIdx.x % 32 >= wave.active) image = kNoImage;
    wave.shift = shift;
    wave.put(0, region);
    __syncthreads();
    memory.give(old);
  }
  /// Leaves images and marks in Shared as the other retire() does.
  __device__ void leave(const Wave& wave, Shared& shared) {
    async_copy_wait();
    __syncthreads();
    if (threadIdx.x < 96) shared.marks[threadIdx.x] = {};
    if (threadIdx.x < wave.columns()) shared.image[threadIdx.x] = image;
    on = false;
    __syncthreads();
  }
};

/// Runs a wave on to layer `until`, or until its images are settled. Behind retire() or load_survivors().
__device__ inline void run(const ProgramView& program, const LaunchArgs& args, Wave& wave, Memory& memory,
                           Shared& shared) {
  if (saves_columns(wave) && wave.layer < args.until)
    compact(wave, layer_at(program, wave.layer).inputs, program.columns, memory, shared);
  NarrowWave narrow;
  while (wave.layer < args.until && wave.active > 0) {
    const CascadeLayer layer = layer_at(program, wave.layer);
    if (!narrow.on && wave.groups == 1 && wave.shift <= 5) narrow.enter(wave, shared);
    if (narrow.on) prefetch_next_layer(program, wave.layer, shared);
    run_layer(program, layer, narrow.marks, wave, memory, shared);
    if (narrow.on)
      narrow.retire(program, args, layer.outputs, wave, shared);
    else
      retire(program, args, wave.layer, layer.outputs, wave, shared);
    ++wave.layer;
    if (!saves_columns(wave)) continue;
    if (narrow.on)
      narrow.compact(wave, layer.outputs, memory);
    else
      compact(wave, layer.outputs, program.columns, memory, shared);
  }
  if (narrow.on) narrow.leave(wave, shared);
}

/// Images first .. first+count-1 come in behind layer 0, or behind layer 1 where this is `tabled` (even if layer 0 has
/// settled them all), and are settled.
__device__ inline void begin_counted(const ProgramView& program, const LaunchArgs& args, Index first, Index count,
                                     bool tabled, Wave& wave, Memory& memory, Shared& shared) {
  CascadeLayer layer = layer_at(program, 0);
  const Counts counts = load_counts(program, args, layer.outputs, first, count, tabled, wave, memory, shared);
  if (!tabled) run_counts(program, layer, counts, wave, memory, shared);
  retire(program, args, wave.layer++, layer.outputs, wave, shared);
  if (!tabled) return;
  layer = layer_at(program, 1);
  run_tabled(program, layer, counts, wave, memory, shared);
  retire(program, args, wave.layer++, layer.outputs, wave, shared);
}

/// Takes the next images, at most `most`, behind the `dealt` ones that blocks begin with; returns the first of them, or
/// what is behind the last.
__device__ inline Index take_images(const LaunchArgs& args, Index most, Index dealt, Index images, Shared& shared) {
  __syncthreads();
  if (dealt >= images) return images;
  if (threadIdx.x == 0) shared.next[0] = min(dealt + atomicAdd(args.next, most), images);
  __syncthreads();
  return shared.next[0];
}

/// A kernel may start before the one that it follows is done, where the device can do that: here it waits for it, and
/// allows the same to the next.
__device__ inline void await_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

/// The last block of a run settles the copies and hands the results over.
__device__ inline void finish_run(const ProgramView& program, const LaunchArgs& args, Shared& shared) {
  const Results& results = args.results;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned long long before = add_acq_rel(results.done, 1ULL << 32U);
    shared.next[0] = (before >> 32U) + 1 == gridDim.x ? 1 : 0;
    shared.next[1] = static_cast<Index>(before);
  }
  __syncthreads();
  const Index listed = shared.next[1];
  if (shared.next[0] == 0) return;
  const Index counted = __ldcg(results.counted);
  if (listed > 0 && args.until == program.depth) {
    retire_duplicates(args.search, listed, program.depth, args.by_layer, args.categories, nullptr);
    __syncthreads();
  }
  const Index units = (results.bytes + counted * sizeof(LayerTally) + sizeof(uint4) - 1) / sizeof(uint4);
#pragma unroll 4
  for (Index i = threadIdx.x; i < units; i += kThreads) results.to[i] = __ldcg(results.from + i);
}

__global__ void __launch_bounds__(kThreads, 1)
    cascade_kernel(const __grid_constant__ ProgramView program, const __grid_constant__ LaunchArgs args) {
  Shared& shared = block_shared();
  Memory memory{program.region_floats, (1U << program.regions) - 1};
  const bool counted = args.first == 0;
  for (Index i = threadIdx.x; i < kSlots; i += kThreads) shared.marks[i] = {};
  const Index width = layer_at(program, args.first).inputs;
  const bool tabled = counted && program.tabled != 0 && args.until > 1;
  if (counted) tabulate(program, layer_at(program, 0), shared);
  __syncthreads();
  if (tabled) tabulate_pairs(program, layer_at(program, 1), shared);
  await_previous_kernel();
  __syncthreads();

  const Index images = counted ? args.images : __ldcg(args.in.count);
  const Index room = (program.regions - 1) * program.columns;
  const Index most = min(room, (images + gridDim.x - 1) / gridDim.x);
  const Index dealt = most * gridDim.x;
  Index reached = 0;
  for (Index first = most * blockIdx.x; first < images; first = take_images(args, most, dealt, images, shared)) {
    const Index count = min(most, images - first);
    Wave wave;
    wave.layer = args.first;
    if (counted) {
      begin_counted(program, args, first, count, tabled, wave, memory, shared);
    } else {
      load_survivors(program, args, width, first, count, wave, memory, shared);
    }
    run(program, args, wave, memory, shared);
    reached = max(reached, wave.layer);
    if (wave.active > 0 && args.out.rows != nullptr)
      save_survivors(args, layer_at(program, args.until - 1).outputs, wave, memory, shared);
    memory.give_all(wave);
  }
  if (threadIdx.x == 0) atomicMax(args.counted, min(reached + 1, program.depth));
  if (args.results.to != nullptr) finish_run(program, args, shared);
}

}  // namespace spdnn::cuda::cascade
