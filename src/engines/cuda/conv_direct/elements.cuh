#pragma once

// How kernels of elements walk over blocks of images: those of 32 in images32, where a lane has one image and a warp
// one element at a time, and those of one in rows of the device, where neighbouring threads have neighbouring elements.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "engines/cuda/runtime/overlap.cuh"
#include "spdnn/types.hpp"

namespace spdnn::cuda {

inline constexpr Index kElementThreads = 256;
inline constexpr Index kLanes = 32;

/// Blocks of threads for a number of elements of `together` images each.
inline unsigned element_blocks(std::size_t elements, Index together) {
  return static_cast<unsigned>(
      std::min<std::size_t>((elements * together + kElementThreads - 1) / kElementThreads, 1U << 16U));
}

/// Calls `work(i, lane)` for each of 0 .. count-1 and each of the images of a block, or groups of them: 1, 8 or 32. For
/// kernels of launch_overlapped().
template <class Work>
__device__ void for_each_element(std::size_t count, Index together, Work work) {
  wait_for_kernel_before();
  let_next_kernel_begin();
  const auto shift = static_cast<Index>(__popc(together - 1));
  for (std::size_t i = std::size_t{blockIdx.x} * kElementThreads + threadIdx.x; i < count << shift;
       i += std::size_t{gridDim.x} * kElementThreads)
    work(i >> shift, static_cast<Index>(i) & (together - 1));
}

}  // namespace spdnn::cuda
