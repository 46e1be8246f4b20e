#pragma once

// For the CPU what src/engines/cuda/block.cuh is for a device.

#include <cuda_runtime_api.h>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::dynamic_shared());
}
inline Index load_acquire(const Index* from) { return *from; }
inline void store_release(Index* to, Index value) { *to = value; }

}  // namespace spdnn::cuda
