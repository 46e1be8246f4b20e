#pragma once

// The last images of a wave: one region of at most 32 columns. The latency of a layer bounds them. Therefore a layer
// takes one barrier, a second only if columns move, and its terms are prefetched into L1 during the previous layer if
// they take at most 32 KiB.

#include "engines/cuda/cascade/retire.cuh"

namespace spdnn::cuda::cascade {

/// Prefetches into L1 the terms of the layer after `number`, unless they take more than kMostPrefetched sectors, and
/// the description of the layer after that. The last warp does so, because in narrow layers it is the first without
/// neurons: it copies four bytes of each sector to unused memory.
__device__ inline void prefetch_next_layer(BlockContext& block, Index number) {
  constexpr Index kSector = 32;  // bytes that L1 reads at once
  if (threadIdx.x < kThreads - 32) return;
  const CascadeLayer layer = block.layer(number + 1);
  const auto* terms = reinterpret_cast<const char*>(block.program.terms + layer.terms);
  const Index bytes = layer.pairs > 0 ? layer.outputs * 4 : (layer.degree + 7) / 8 * layer.outputs * 16;
  const Index lane = threadIdx.x % 32;
  std::uint32_t* const to = block.shared.prefetched;
  async_copy_wait();  // for the copies of the call before
  if (bytes <= kSector * kMostPrefetched)
    for (Index i = lane; i * kSector < bytes; i += 32) async_copy<4>(to + i, terms + i * kSector);
  const auto* after = reinterpret_cast<const uint4*>(block.program.layers + min(number + 2, block.program.depth - 1));
  if (lane < sizeof(CascadeLayer) / sizeof(uint4)) async_copy<4>(to + kMostPrefetched + lane, after + lane);
}

/// The position of the n-th bit that is set, from 0; 31 where there is none.
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

/// Tracks the images of a wave with one region and at most 32 columns: every warp does so, one lane per column, so that
/// the only barriers are those of run_layer() and compact(). Marks use three buffers in rotation: one is written, one
/// read, one cleared. The last warp records the images' results.
struct NarrowWave {
  bool on = false;
  Index image = kNoImage;    ///< of this thread's lane
  std::uint32_t active = 0;  ///< lanes with active images
  Index marks = 0;           ///< where they go

  __device__ void enter(const Wave& wave, const Shared& shared) {
    const Index lane = threadIdx.x % 32;
    image = lane < wave.columns() ? shared.image[lane] : kNoImage;
    marks = 0;
    on = true;
  }
  /// retire() for narrow waves.
  __device__ void retire(BlockContext& block, Index outputs, Wave& wave) {
    Shared& shared = block.shared;
    const Index lane = threadIdx.x % 32;
    image = retire_image(block, wave.layer, outputs, image, shared.marks[marks + lane], threadIdx.x >= kThreads - 32);
    active = __ballot_sync(0xffffffffU, image != kNoImage);
    wave.active = __popc(active);
    if (threadIdx.x < 32) shared.marks[(marks == 0 ? 64 : marks - 32) + lane] = {};
    marks = marks == 64 ? 0 : marks + 32;
  }
  /// compact() for narrow waves, after retire(). Ends with a barrier.
  __device__ void compact(BlockContext& block, Wave& wave, Index width) {
    const Index shift = shift_for(wave.active, 32);
    const Index column = threadIdx.x & ((1U << shift) - 1);
    const Index from = place_of_bit(active, column);
    const Index old = wave.region(0);
    const Index region = block.memory.take();
    if (column < wave.active) {
      const float* source = block.memory.at(old) + from;
      float* target = block.memory.at(region) + column;
#pragma unroll 4
      for (Index neuron = threadIdx.x >> shift; neuron < width; neuron += kThreads >> shift)
        target[neuron << shift] = source[neuron << wave.shift];
    }
    image = __shfl_sync(0xffffffffU, image, static_cast<int>(from));
    if (threadIdx.x % 32 >= wave.active) image = kNoImage;
    wave.shift = shift;
    wave.put(0, region);
    __syncthreads();
    block.memory.give(old);
  }
  /// Leaves images and marks in Shared as retire() does for other waves.
  __device__ void leave(const Wave& wave, Shared& shared) {
    async_copy_wait();
    __syncthreads();
    if (threadIdx.x < 96) shared.marks[threadIdx.x] = {};
    if (threadIdx.x < wave.columns()) shared.image[threadIdx.x] = image;
    on = false;
    __syncthreads();
  }
};

}  // namespace spdnn::cuda::cascade
