#pragma once

// cascade_kernel: a block takes a *wave* of images, its share of them or as many as its shared memory holds, and keeps
// active images there from layer to layer, compacting them whenever that saves columns. It is designed for plans
// narrowed by `twins` and images that mostly retire within a few layers.
//
// Work. Two launches, or one if no layer is left for the second. The first runs all images through the first layers,
// wave after wave: layer 0 from counts, layer 1 as well if the plan has a table for it (tables.cuh), the others by sums
// (layer.cuh); its survivors go to device memory. The second distributes these evenly, drops duplicates (survivors.cuh)
// and runs the rest to the last layer. Blocks never wait for one another; the last one to finish writes the results to
// host memory.
//
// Mapping. One block per multiprocessor; a region of shared memory has a row for each neuron and one column per image
// (wave.cuh). Once one region of at most 32 columns is left, each warp tracks all images (narrow.cuh).
//
// Bound. Where the sums of a layer are a, b, a, b, ..., fp32 FMA; in other layers shared memory; for the last images
// the latency of a layer. results/h200/roofline.md has measurements.

#include "engines/cuda/cascade/ends_of_launches.cuh"
#include "engines/cuda/cascade/narrow.cuh"
#include "engines/cuda/cascade/survivors.cuh"
#include "engines/cuda/cascade/tables.cuh"

namespace spdnn::cuda::cascade {

/// Runs a wave to layer `until`, or until its images have retired. After retire() or load_survivors().
__device__ inline void run(BlockContext& block, Wave& wave) {
  const Index until = block.args.until;
  if (saves_columns(wave) && wave.layer < until) compact(block, wave, block.layer(wave.layer).inputs);
  NarrowWave narrow;
  while (wave.layer < until && wave.active > 0) {
    const CascadeLayer layer = block.layer(wave.layer);
    if (!narrow.on && wave.groups == 1 && wave.shift <= 5) narrow.enter(wave, block.shared);
    if (narrow.on) prefetch_next_layer(block, wave.layer);
    run_layer(block, layer, narrow.marks, wave);
    if (narrow.on)
      narrow.retire(block, layer.outputs, wave);
    else
      retire(block, wave.layer, layer.outputs, wave);
    ++wave.layer;
    if (!saves_columns(wave)) continue;
    if (narrow.on)
      narrow.compact(block, wave, layer.outputs);
    else
      compact(block, wave, layer.outputs);
  }
  if (narrow.on) narrow.leave(wave, block.shared);
}

/// Loads images first .. first+count-1 from their counts, runs layer 0, and layer 1 as well if it is `tabled` (even if
/// layer 0 has retired them all), and retires images.
__device__ inline void begin_counted(BlockContext& block, Index first, Index count, bool tabled, Wave& wave) {
  CascadeLayer layer = block.layer(0);
  const Counts counts = load_counts(block, layer.outputs, first, count, tabled, wave);
  if (!tabled) run_counts(block, layer, counts, wave);
  retire(block, wave.layer++, layer.outputs, wave);
  if (!tabled) return;
  layer = block.layer(1);
  run_tabled(block, layer, counts, wave);
  retire(block, wave.layer++, layer.outputs, wave);
}

/// Takes the next images, at most `most`, after the first `dealt`, with which blocks begin; returns the first of them,
/// or the number of images if none is left.
__device__ inline Index take_images(BlockContext& block, Index most, Index dealt, Index images) {
  Shared& shared = block.shared;
  __syncthreads();
  if (dealt >= images) return images;
  if (threadIdx.x == 0) shared.next[0] = min(dealt + atomicAdd(block.args.next, most), images);
  __syncthreads();
  return shared.next[0];
}

__global__ void __launch_bounds__(kThreads, 1)
    cascade_kernel(const __grid_constant__ ProgramView program, const __grid_constant__ LaunchArgs args) {
  BlockContext block{.program = program,
                     .args = args,
                     .shared = *dynamic_shared<Shared>(),
                     .memory = {.region_floats = program.region_floats, .free = (1U << program.regions) - 1}};
  const bool counted = args.first == 0;
  for (Index i = threadIdx.x; i < kSlots; i += kThreads) block.shared.marks[i] = {};
  const Index width = block.layer(args.first).inputs;
  const bool tabled = counted && program.pair_table != nullptr && args.until > 1;
  if (counted) tabulate(block, block.layer(0));
  if (tabled) copy_table(program.pair_table, block.shared.pair_table, kThreads);
  await_previous_kernel();
  __syncthreads();

  const Index images = counted ? args.images : __ldcg(args.in.count);
  const Index room = (program.regions - 1) * program.columns;
  const Index most = min(room, (images + gridDim.x - 1) / gridDim.x);
  const Index dealt = most * gridDim.x;
  Index reached = 0;
  for (Index first = most * blockIdx.x; first < images; first = take_images(block, most, dealt, images)) {
    const Index count = min(most, images - first);
    Wave wave;
    wave.layer = args.first;
    if (counted) {
      begin_counted(block, first, count, tabled, wave);
    } else {
      load_survivors(block, width, first, count, wave);
    }
    run(block, wave);
    reached = max(reached, wave.layer);
    if (wave.active > 0 && args.out.rows != nullptr) save_survivors(block, block.layer(args.until - 1).outputs, wave);
    block.memory.give_all(wave);
  }
  if (threadIdx.x == 0) atomicMax(args.counted, min(reached + 1, program.depth));
  if (args.results.to != nullptr) finish_run(program.depth, args, block.shared.next);
}

}  // namespace spdnn::cuda::cascade
