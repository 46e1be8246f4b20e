#pragma once

// A team of warps of front_kernel: its shape, its shared memory, its barrier.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/cascade/types.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::cascade {

/// The shape of front_kernel for layers of 2^kLog neurons. A team takes kImages images at a time. Their activations are
/// numbered through as *slots*, 32 of which are a *word*: one bit per slot says whether it is above 0. A team has as
/// many threads as words.
template <Index kLog>
struct FrontShape {
  static constexpr Index kNeurons = 1U << kLog;
  static constexpr Index kWords = kNeurons / 32;                           ///< of an image
  static constexpr Index kWarps = kNeurons > 1024 ? kNeurons / 1024 : 1;   ///< of a team
  static constexpr Index kImages = kNeurons < 1024 ? 1024 / kNeurons : 1;  ///< of a team
  static constexpr Index kTeamWords = kImages * kWords;
  static constexpr Index kSlots = kImages * kNeurons;
  static constexpr Index kTeams = 24 / kWarps;  ///< of a block
  static constexpr Index kThreads = 32 * kWarps * kTeams;
  static constexpr Index kLanes = kWarps == 1 ? kWords : 1;  ///< of an image in a set of images
  static_assert(kTeamWords == 32 * kWarps, "a thread for each word");

  // Sets of images have one bit for each, at the first of its lanes.

  /// The images of which one of this warp's lanes has a bit.
  static __device__ std::uint32_t images_of(std::uint32_t lanes) {
    if constexpr (kWarps > 1) {
      return lanes != 0 ? 1 : 0;
    } else {
#pragma unroll
      for (Index step = 1; step < kLanes; step *= 2) lanes |= lanes >> step;
      return lanes & first_lanes((1U << kImages) - 1);
    }
  }
  /// The set of the images that have a bit.
  static __device__ std::uint32_t first_lanes(std::uint32_t images) {
    std::uint32_t lanes = 0;
#pragma unroll
    for (Index image = 0; image < kImages; ++image) lanes |= (images >> image & 1U) << (image * kLanes);
    return lanes;
  }
};

/// Images that follow one another among those that front_kernel computes.
struct FrontImages {
  Index first;
  Index count;
};

/// The shared memory of a team. Layer k writes to side k % 2. Layer 0 writes counts, one byte each, in place of values.
template <class Shape>
struct alignas(16) FrontMemory {
  float values[2][Shape::kSlots];
  std::uint32_t masks[2][Shape::kTeamWords];
  std::uint16_t octets[Shape::kWarps][4 * 32];  ///< by warp: the first of eight slots each, those to compute first
  Marks marks[4];      ///< of the team's image after layer k at k % 4, where the team has several warps
  FrontImages next;    ///< batch
  Index place;         ///< of the team's image among the survivors
  std::uint32_t hash;  ///< sum of its row's shares

  __device__ std::uint8_t* counts() { return reinterpret_cast<std::uint8_t*>(values[0]); }
  __device__ std::uint32_t* planes() { return reinterpret_cast<std::uint32_t*>(values[1]); }
};

/// The shared memory of a block: the table of layer 1, and the teams'.
template <class Shape>
struct alignas(16) FrontBlock {
  float pair_table[kTableFloats];
  FrontMemory<Shape> teams[Shape::kTeams];
  Index taken;                        ///< batches of the block's share
  Index live[kMostFrontLayers];       ///< images, by layer, as in LayerTally
  Index saturated[kMostFrontLayers];  ///< likewise
};

/// A thread's place in its team.
template <class Shape>
struct FrontTeam {
  Index number = threadIdx.x / (32 * Shape::kWarps);  ///< of the team in its block
  Index thread = threadIdx.x % (32 * Shape::kWarps);
  Index warp = thread / 32;
  Index lane = threadIdx.x % 32;

  /// A barrier of the team.
  __device__ void sync() const {
    if constexpr (Shape::kWarps == 1)
      __syncwarp();
    else
      sync_threads(number + 1, 32 * Shape::kWarps);
  }
  /// The i-th word of this warp. Words go to the warps diagonally, as neighbouring words are often busy together, and
  /// so are those of a stride.
  __device__ Index own_word(Index i) const {
    if constexpr (Shape::kWarps == 1)
      return i;
    else
      return i * Shape::kWarps + (warp + i) % Shape::kWarps;
  }
};

}  // namespace spdnn::cuda::cascade
