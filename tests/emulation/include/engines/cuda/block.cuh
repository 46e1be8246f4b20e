#pragma once

// For the CPU what src/engines/cuda/block.cuh is for a device.

#include <cuda_runtime_api.h>

#include <cstring>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::dynamic_shared());
}
inline Index load_acquire(const Index* from) {
  emulation::pause();
  return *from;
}
inline void store_release(Index* to, Index value) { *to = value; }
inline void copy_16_bytes(void* shared, const void* global) { std::memcpy(shared, global, 16); }
inline void wait_for_copies() {}

}  // namespace spdnn::cuda
