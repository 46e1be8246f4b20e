#pragma once

// Where a launch meets those before and after it: it waits for the one before, and the last block of the last one
// finishes the run.

#include "engines/cuda/cascade/types.hpp"
#include "engines/cuda/retire/offered_duplicates.cuh"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::cascade {

/// Programmatic dependent launch, if the device supports it: a kernel starts before the previous one has ended. Waits
/// for that, and lets the next one start.
__device__ inline void await_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

/// The last block of a run to finish retires the duplicates, writes the results to the host and clears the state.
/// By all threads of each block; `shared`: two variables of the block.
__device__ inline void finish_run(Index depth, const LaunchArgs& args, Index* shared) {
  const Results& results = args.results;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned long long before = add_acq_rel(results.done, 1ULL << 32U);
    shared[0] = (before >> 32U) + 1 == gridDim.x ? 1 : 0;
    shared[1] = static_cast<Index>(before);
  }
  __syncthreads();
  const Index listed = shared[1];
  if (shared[0] == 0) return;
  const Index counted = __ldcg(results.counted);
  if (listed > 0 && args.until == depth) {
    retire_duplicates(args.search, listed, depth, args.tallies, args.categories, nullptr);
    __syncthreads();
  }
  const Index runs = __ldcg(args.runs);
  __syncthreads();
  const Index units = (results.bytes + counted * sizeof(LayerTally) + sizeof(uint4) - 1) / sizeof(uint4);
#pragma unroll 4
  for (Index i = threadIdx.x; i < results.cleared / sizeof(uint4); i += blockDim.x) {
    if (i < units) results.to[i] = __ldcg(results.state + i);
    results.state[i] = make_uint4(0, 0, 0, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) *args.runs = runs + 1;
}

}  // namespace spdnn::cuda::cascade
