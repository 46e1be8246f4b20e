#pragma once

// How kernels of elements walk over images32: a lane has one image, and a warp one element of an image at a time.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

inline constexpr Index kElementThreads = 256;
inline constexpr Index kLanes = 32;

/// Blocks of threads for a number of elements.
inline unsigned element_blocks(std::size_t elements) {
  return static_cast<unsigned>(
      std::min<std::size_t>((elements * kLanes + kElementThreads - 1) / kElementThreads, 1U << 16U));
}

/// Calls `work(i)` in each lane for the warp's share of 0 .. count-1.
template <class Work>
__device__ void for_each_element(std::size_t count, Work work) {
  const std::size_t warps = std::size_t{gridDim.x} * (kElementThreads / kLanes);
  for (std::size_t i = std::size_t{blockIdx.x} * (kElementThreads / kLanes) + threadIdx.x / kLanes; i < count;
       i += warps)
    work(i);
}

}  // namespace spdnn::cuda
