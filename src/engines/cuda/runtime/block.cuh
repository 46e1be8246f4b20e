#pragma once

// Device primitives that CUDA's headers lack. tests/emulation has versions for the CPU.

#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

/// The dynamic shared memory of a launch.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 block_dynamic_memory[];
  return reinterpret_cast<T*>(block_dynamic_memory);
}

/// Where in shared memory a variable lies, and a value at such an address: for addresses that are put together of
/// bytes.
__device__ inline std::uint32_t shared_address(const void* variable) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(variable));
}
template <class T = float>
__device__ T load_shared(std::uint32_t address) {
  if constexpr (sizeof(T) == 16) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return std::bit_cast<T>(v);
  } else if constexpr (sizeof(T) == 8) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address) : "memory");
    return std::bit_cast<T>(v);
  } else {
    std::uint32_t v = 0;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return std::bit_cast<T>(v);
  }
}
__device__ inline void store_shared(std::uint32_t address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

/// A barrier for `count` threads, in whole warps; `id`: 1 .. 15, 0 is __syncthreads().
__device__ inline void sync_threads(Index id, Index count) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}

/// Loads a value stored by store_release(): then the other block's earlier writes are visible.
__device__ inline Index load_acquire(const Index* from) {
  Index value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline void store_release(Index* to, Index value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

/// Reads 16 constant bytes without allocating them in L1. The compiler may not delay the load.
template <class T>
__device__ T read_past_l1(const T* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return std::bit_cast<T>(v);
}

/// An atomic addition with acquire and release order: whoever reads the sum sees the earlier writes of those that
/// added.
__device__ inline unsigned long long add_acq_rel(unsigned long long* to, unsigned long long value) {
  unsigned long long before = 0;
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(to), "l"(value) : "memory");
  return before;
}

/// Reads 4, 8 or 16 bytes that nobody reads again.
template <class T>
__device__ T read_once(const T* from) {
  if constexpr (sizeof(T) == 16)
    return std::bit_cast<T>(__ldcs(reinterpret_cast<const uint4*>(from)));
  else if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(__ldcs(reinterpret_cast<const uint2*>(from)));
  else
    return std::bit_cast<T>(__ldcs(reinterpret_cast<const unsigned*>(from)));
}

/// Byte `k` of two words as the halves of one; both are below 128. `k` is known when the kernel is compiled.
__device__ inline std::uint32_t bytes_as_halves(std::uint32_t low, std::uint32_t high, Index k) {
  constexpr Index kSign = 0x8080;  // of a byte in eight bits: 0
  std::uint32_t halves = 0;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(halves) : "r"(low), "r"(high), "r"(kSign + 0x4400 + 0x1111 * k));
  return halves;
}

/// Spins for about `cycles` clock cycles.
__device__ inline void delay(Index cycles) {
  const auto begin = clock();
  while (static_cast<Index>(clock() - begin) < cycles) continue;
}

/// Copies 4, 8 or 16 bytes asynchronously; visible to the thread after async_copy_wait(), to the block after a barrier,
/// too.
template <int kBytes>
__device__ void async_copy(void* shared, const void* global) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global), "n"(kBytes));
}
__device__ inline void async_copy_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// The copies since the last call become a group, which may be empty.
__device__ inline void async_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups of the thread except the last kBut.
template <unsigned kBut>
__device__ void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kBut) : "memory");
}

}  // namespace spdnn::cuda
