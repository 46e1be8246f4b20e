#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

/// Device memory from a pool of the program's own on each device. The device's default pool stays as it is, for the
/// program that embeds this library.
namespace spdnn::cuda {

/// Memory of the current device, allocated in the order of `stream` and freed by cudaFreeAsync(). Freed memory stays in
/// the pool, across synchronisations too.
void* allocate_on_device(std::size_t bytes, cudaStream_t stream);

/// Returns the unused memory of the current device's pool to the driver, for allocations outside the pool. Waits for
/// the device.
void trim_pool();

/// Bytes of the current device's pool.
struct PoolUse {
  std::uint64_t reserved = 0;  ///< taken from the driver
  std::uint64_t used = 0;      ///< allocated
  std::uint64_t peak = 0;      ///< the most ever allocated, or since reset_peak()
};

PoolUse pool_use();
void reset_peak();

}  // namespace spdnn::cuda
