#pragma once

// For the CPU what src/engines/cuda/runtime/block.cuh is for a device.

#include <cuda_runtime_api.h>

#include <cstring>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::dynamic_shared());
}
inline std::uint32_t shared_address(const void* variable) {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(variable) - emulation::dynamic_shared());
}
template <class T = float>
T load_shared(std::uint32_t address) {
  return *reinterpret_cast<const T*>(emulation::dynamic_shared() + address);
}
inline void store_shared(std::uint32_t address, float value) {
  *reinterpret_cast<float*>(emulation::dynamic_shared() + address) = value;
}
inline void sync_threads(Index id, Index count) { emulation::barrier_of(id, count); }
inline Index load_acquire(const Index* from) {
  emulation::pause();
  return *from;
}
inline void store_release(Index* to, Index value) { *to = value; }
template <class T>
T read_past_l1(const T* from) {
  return *from;
}
inline unsigned long long add_acq_rel(unsigned long long* to, unsigned long long value) { return atomicAdd(to, value); }
template <class T>
T read_once(const T* from) {
  return *from;
}
inline std::uint32_t bytes_as_halves(std::uint32_t low, std::uint32_t high, Index k) {
  return (low >> (8 * k) & 0xffU) | (high >> (8 * k) & 0xffU) << 16U;
}
inline void delay(Index) { emulation::pause(); }
template <int kBytes>
void async_copy(void* shared, const void* global) {
  std::memcpy(shared, global, kBytes);
}
inline void async_copy_wait() {}
inline void async_copy_commit() {}
template <unsigned kBut>
void async_copy_wait() {}

}  // namespace spdnn::cuda
