#pragma once

// An asynchronous copy of numbers that may lie beyond a tensor. tests/emulation has a version for the CPU.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace spdnn::cuda {

/// As async_copy() of block.cuh, but if nothing `exists` there, the bytes in shared memory become 0.
template <int kBytes>
__device__ void async_copy_or_zero(void* shared, const void* global, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
               "l"(global), "n"(kBytes), "r"(exists ? kBytes : 0));
}

}  // namespace spdnn::cuda
