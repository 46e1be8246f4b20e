#pragma once

// A wave of images in the shared memory of a block of cascade_kernel. The README has a figure.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/cascade/types.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::cascade {

/// Images in shared memory: groups of columns, each group in its own region, which holds for each neuron a row of one
/// float per column. Columns without an image, or with a retired image, are also computed until compact() drops them.
struct Wave {
  Index layer = 0;            ///< next to run
  Index active = 0;           ///< images that have not retired
  Index shift = 0;            ///< a group has 2^shift columns
  Index groups = 0;           ///< how many there are
  std::uint32_t regions = 0;  ///< the number of each group's region, four bits each

  __device__ Index columns() const { return 1U << shift; }
  __device__ Index slots() const { return groups << shift; }
  __device__ Index region(Index group) const { return regions >> (4 * group) & 15U; }
  __device__ void put(Index group, Index region) {
    regions = (regions & ~(15U << (4 * group))) | region << (4 * group);
  }
};

/// The regions of a block's shared memory. All functions are called by all threads, with the same arguments.
struct Memory {
  Index region_floats;
  std::uint32_t free;  ///< one bit per region

  __device__ float* at(Index region) const {
    return reinterpret_cast<float*>(dynamic_shared<unsigned char>() + sizeof(Shared)) + region * region_floats;
  }
  __device__ Index take() {
    const Index region = __ffs(static_cast<int>(free)) - 1;
    free &= ~(1U << region);
    return region;
  }
  __device__ void give(Index region) { free |= 1U << region; }
  __device__ void give_all(Wave& wave) {
    for (Index g = 0; g < wave.groups; ++g) give(wave.region(g));
    wave.groups = wave.active = 0;
  }
};

/// The arguments of all device functions: the kernel's arguments and the block's shared memory.
struct BlockContext {
  const ProgramView& program;
  const LaunchArgs& args;
  Shared& shared;
  Memory memory;

  /// A layer's description; past the last layer, that of the last.
  __device__ CascadeLayer layer(Index number) const { return program.layers[min(number, program.depth - 1)]; }
};

/// The smallest shift such that 2^shift columns hold all images, or as many as a region of `columns` holds.
__device__ inline Index shift_for(Index images, Index columns) {
  const Index wanted = min(images, columns);
  return wanted <= 1 ? 0 : 32 - __clz(wanted - 1);
}

/// Records the columns with active images; returns their number. Ends with a barrier and reads of Shared::active.
__device__ inline Index note_active(const Wave& wave, Shared& shared) {
  if (threadIdx.x / 32 * 32 < wave.slots()) {
    const bool active = threadIdx.x < wave.slots() && shared.image[threadIdx.x] != kNoImage;
    const std::uint32_t mask = __ballot_sync(0xffffffffU, active);
    if (threadIdx.x % 32 == 0) shared.active[threadIdx.x / 32] = mask;
  }
  __syncthreads();
  const Index word = threadIdx.x % 32;
  return __reduce_add_sync(0xffffffffU, word * 32 < wave.slots() ? __popc(shared.active[word]) : 0);
}

/// Lists the active images' columns in Shared::order. After note_active(); ends with a barrier.
__device__ inline void list_active(const Wave& wave, Shared& shared) {
  const Index word = threadIdx.x / 32;
  const Index lane = threadIdx.x % 32;
  if (word * 32 < wave.slots()) {
    const Index before = __reduce_add_sync(0xffffffffU, lane < word ? __popc(shared.active[lane]) : 0);
    const std::uint32_t active = shared.active[word];
    if ((active >> lane & 1U) != 0)
      shared.order[before + __popc(active & ((1U << lane) - 1))] = static_cast<std::uint16_t>(threadIdx.x);
  }
  __syncthreads();
}

/// Whether the active images of a wave fit into fewer groups or, of one group, into half the columns.
__device__ inline bool saves_columns(const Wave& wave) {
  return wave.active > 0 && (wave.groups > 1 ? wave.active + wave.columns() : 2 * wave.active) <= wave.slots();
}

/// Compacts the active images of a wave. `width`: the number of rows. After note_active(). Fills one free region at a
/// time, and frees each old region as soon as all its images have moved. Ends with a barrier.
__device__ inline void compact(BlockContext& block, Wave& wave, Index width) {
  Shared& shared = block.shared;
  const Index shift = shift_for(wave.active, block.program.columns);
  const Index groups = (wave.active + (1U << shift) - 1) >> shift;
  list_active(wave, shared);
  const Index image = threadIdx.x < wave.active ? shared.image[shared.order[threadIdx.x]] : kNoImage;
  __syncthreads();
  if (threadIdx.x < groups << shift) shared.image[threadIdx.x] = image;
  Wave to = wave;
  to.shift = shift;
  to.groups = groups;
  Index consumed = 0;
  for (Index g = 0; g < groups; ++g) {
    const Index region = block.memory.take();
    to.put(g, region);
    const Index slot = (g << shift) + (threadIdx.x & (to.columns() - 1));
    if (slot < wave.active) {
      const Index from = shared.order[slot];
      const float* source = block.memory.at(wave.region(from >> wave.shift)) + (from & (wave.columns() - 1));
      float* target = block.memory.at(region) + (slot & (to.columns() - 1));
#pragma unroll 4
      for (Index neuron = threadIdx.x >> shift; neuron < width; neuron += kThreads >> shift)
        target[neuron << shift] = source[neuron << wave.shift];
    }
    __syncthreads();
    const Index next = (g + 1) << shift;
    const Index until = next < wave.active ? shared.order[next] >> wave.shift : wave.groups;
    for (; consumed < until; ++consumed) block.memory.give(wave.region(consumed));
  }
  wave = to;
}

}  // namespace spdnn::cuda::cascade
