#pragma once

// What kernels need of the device that no function of CUDA gives them. tests/emulation has the same for the CPU.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

/// The shared memory that a launch asks for beside a kernel's variables.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 block_dynamic_memory[];
  return reinterpret_cast<T*>(block_dynamic_memory);
}

/// What other blocks wrote before they stored a value by store_release() is seen after it has been loaded.
__device__ inline Index load_acquire(const Index* from) {
  Index value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline void store_release(Index* to, Index value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

/// Copies 16 bytes beside what the thread goes on with; they are there after wait_for_copies(), for the block after a
/// barrier, too.
__device__ inline void copy_16_bytes(void* shared, const void* global) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global));
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace spdnn::cuda
