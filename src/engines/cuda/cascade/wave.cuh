#pragma once

// What a block of the `cascade` engine works on: sets of images in shared memory; see kernel.cuh.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/cascade/program.hpp"
#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/retire/duplicate_search.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::cascade {

inline constexpr Index kThreads = 512;
inline constexpr Index kMostRegions = 8;    ///< their numbers have four bits in Wave::regions
inline constexpr Index kMostColumns = 128;  ///< of a region
inline constexpr Index kSlots = kThreads;   ///< columns of a wave: a thread a column
inline constexpr Index kNoLayer = 0xffffffff;
inline constexpr Index kSector = 32;            ///< bytes that L1 reads at once
inline constexpr Index kMostPrefetched = 1024;  ///< sectors of a layer's terms that are brought to L1 at most
inline constexpr Index kTablePitch = 37;        ///< of Shared::of_pairs: counts a and b are in bank 5 a + b

/// The plan on the device; see CascadeProgram for the arrays.
struct ProgramView {
  const CascadeLayer* layers;
  const uint4* terms;
  const Index* degrees;
  const float* biases;
  const float* sums;  ///< of layer 0, by count
  Index sum_count;
  Index depth;
  Index dead_from;       ///< kNoLayer where the pass is off
  Index saturated_from;  ///< likewise
  Activation activation;
  Index columns;  ///< of a region, a power of two
  Index regions;
  Index region_floats;
  Index tabled;  ///< CascadeProgram::tabled
};

struct LayerTally {
  Index live;        ///< images not all zero among the unsettled
  Index saturated;   ///< of these, retired at the cap
  Index duplicates;  ///< change from the layer before: duplicates of images that are not all zero
};

/// Images between two launches, in any order.
struct Survivors {
  float* rows;  ///< activations, `stride` floats an image; null: there is no room, and no need
  Index stride;
  Index* images;
  Index* count;
};

/// Where a run's results go: to page-locked memory of the host, which saves a copy behind the last launch.
struct Results {
  uint4* to;  ///< null: another launch follows
  const uint4* from;
  Index bytes;               ///< of what stands before the counts by layer, of which only those that are counted follow
  const Index* counted;      ///< LaunchArgs::counted
  unsigned long long* done;  ///< blocks that are done in the higher half; in the lower one, DuplicateSearch::listed
};

/// What a launch runs: layers `first` and on, below `until`. Images come from `counts` where it begins with layer 0,
/// otherwise from `in`; those that are unsettled in the end go to `out`.
struct LaunchArgs {
  const std::uint8_t* counts;  ///< of layer 0's terms that are 1, by image and neuron
  std::size_t stride;          ///< of an image's counts
  Index images;                ///< that have counts
  Survivors in;
  Survivors out;
  Index first;
  Index until;
  Index* next;  ///< images taken behind those that blocks begin with
  LayerTally* by_layer;
  Index* counted;             ///< layers whose counts may not be 0
  std::uint32_t* categories;  ///< a bit an image
  Results results;
  DuplicateSearch search;  ///< among the images that come from `in`, as offered when they went there
};

/// Images in shared memory: columns of one width, in one or more regions. A region holds a row of `columns` floats for
/// each neuron. Columns without an image, or whose image has settled, are computed along until compact() drops them.
struct Wave {
  Index layer = 0;            ///< next to run
  Index active = 0;           ///< images not retired
  Index shift = 0;            ///< a region has 2^shift columns
  Index groups = 0;           ///< regions
  std::uint32_t regions = 0;  ///< their numbers, four bits each

  __device__ Index columns() const { return 1U << shift; }
  __device__ Index slots() const { return groups << shift; }
  __device__ Index region(Index group) const { return regions >> (4 * group) & 15U; }
  __device__ void put(Index group, Index region) {
    regions = (regions & ~(15U << (4 * group))) | region << (4 * group);
  }
};

/// What a layer's activations show of an image.
struct alignas(2) Marks {
  std::uint8_t live;       ///< one is above 0
  std::uint8_t below_cap;  ///< one is below the cap
};

/// Variables that a block shares.
struct alignas(16) Shared {
  Index image[kSlots];  ///< by column; kNoImage: none
  Marks marks[kSlots];
  std::uint16_t order[kSlots];        ///< columns with unsettled images
  std::uint32_t active[kSlots / 32];  ///< a bit a column
  float sums[kMostCounted + 1];
  float of_pairs[(kTabled * kTablePitch + 3) / 4 * 4];  ///< what layer 1 makes of two counts
  std::uint32_t prefetched[kMostPrefetched + 4];        ///< of copies made for the sake of L1
  Index next[4];  ///< image that the block takes next, where its images go; and to make the size a multiple of 16
};

__device__ inline Shared& block_shared() { return *dynamic_shared<Shared>(); }
static_assert(sizeof(Shared) % 16 == 0);
static_assert(kSlots / 32 <= 32, "a lane a word of Shared::active");

/// Smallest shift so that 2^shift columns hold so many images, or those of a region.
__device__ inline Index shift_for(Index images, Index columns) {
  const Index wanted = min(images, columns);
  return wanted <= 1 ? 0 : 32 - __clz(wanted - 1);
}

/// A block's shared memory. All functions are called by all threads, with the same arguments.
struct Memory {
  Index region_floats;
  std::uint32_t free;  ///< a bit a region

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

/// Notes which columns have unsettled images; returns their number. Ends with a barrier.
__device__ inline Index note_active(const Wave& wave, Shared& shared) {
  if (threadIdx.x / 32 * 32 < wave.slots()) {
    const bool kept = threadIdx.x < wave.slots() && shared.image[threadIdx.x] != kNoImage;
    const std::uint32_t mask = __ballot_sync(0xffffffffU, kept);
    if (threadIdx.x % 32 == 0) shared.active[threadIdx.x / 32] = mask;
  }
  __syncthreads();
  const Index word = threadIdx.x % 32;
  return __reduce_add_sync(0xffffffffU, word * 32 < wave.slots() ? __popc(shared.active[word]) : 0);
}

/// Lists the unsettled images' columns in Shared::order. After note_active(); ends with a barrier.
__device__ inline void list_active(const Wave& wave, Shared& shared) {
  const Index word = threadIdx.x / 32;
  const Index lane = threadIdx.x % 32;
  if (word * 32 < wave.slots()) {
    const Index before = __reduce_add_sync(0xffffffffU, lane < word ? __popc(shared.active[lane]) : 0);
    const std::uint32_t kept = shared.active[word];
    if ((kept >> lane & 1U) != 0)
      shared.order[before + __popc(kept & ((1U << lane) - 1))] = static_cast<std::uint16_t>(threadIdx.x);
  }
  __syncthreads();
}

/// Whether the unsettled images of a wave need fewer columns than it has.
__device__ inline bool saves_columns(const Wave& wave) {
  return wave.active > 0 && (wave.groups > 1 ? wave.active + wave.columns() : 2 * wave.active) <= wave.slots();
}

/// Moves the unsettled images of a wave together. `width`: of the rows. After note_active().
__device__ inline void compact(Wave& wave, Index width, Index most_columns, Memory& memory, Shared& shared) {
  const Index shift = shift_for(wave.active, most_columns);
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
    const Index region = memory.take();
    to.put(g, region);
    const Index slot = (g << shift) + (threadIdx.x & (to.columns() - 1));
    if (slot < wave.active) {
      const Index from = shared.order[slot];
      const float* source = memory.at(wave.region(from >> wave.shift)) + (from & (wave.columns() - 1));
      float* target = memory.at(region) + (slot & (to.columns() - 1));
#pragma unroll 4
      for (Index neuron = threadIdx.x >> shift; neuron < width; neuron += kThreads >> shift)
        target[neuron << shift] = source[neuron << wave.shift];
    }
    __syncthreads();
    const Index next = (g + 1) << shift;
    const Index until = next < wave.active ? shared.order[next] >> wave.shift : wave.groups;
    for (; consumed < until; ++consumed) memory.give(wave.region(consumed));
  }
  wave = to;
}

}  // namespace spdnn::cuda::cascade
