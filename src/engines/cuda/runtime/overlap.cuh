#pragma once

// Kernels that begin before the one before them has ended. tests/emulation has a version for the CPU.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

/// Waits until the kernel before has ended, and its results are visible: called by all threads, before they touch
/// anything but constants.
__device__ inline void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/// Lets the next kernel begin, once all blocks have called this or ended.
__device__ inline void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Reads a value into the L1 cache, ahead of its use.
__device__ inline void prefetch_to_l1(const float* value) { asm volatile("prefetch.global.L1 [%0];" ::"l"(value)); }

/// Launches such a kernel. Before compute capability 9.0, kernels follow one another.
template <class Kernel, class... Args>
void launch_overlapped(Kernel* kernel, unsigned blocks, unsigned threads, std::size_t shared_bytes, cudaStream_t stream,
                       const Args&... args) {
  constexpr int kFirst = 9;  // compute capability
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlaps;
  config.numAttrs = current_device_properties().major >= kFirst ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, args...));
}

}  // namespace spdnn::cuda
