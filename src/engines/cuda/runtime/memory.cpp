#include "engines/cuda/runtime/memory.hpp"

#include <limits>
#include <map>
#include <mutex>

#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

cudaMemPool_t make_pool(int ordinal) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;  // device memory; there is no other type
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties));
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return pool;
}

/// Never destroyed: at the end of the process CUDA may be shut down first, which frees the pool.
cudaMemPool_t current_pool() {
  static std::mutex mutex;
  static std::map<int, cudaMemPool_t> pools;
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  const std::lock_guard lock(mutex);
  const auto found = pools.find(ordinal);
  return found != pools.end() ? found->second : pools.emplace(ordinal, make_pool(ordinal)).first->second;
}

std::uint64_t value_of(cudaMemPoolAttr attribute) {
  std::uint64_t value = 0;
  check(cudaMemPoolGetAttribute(current_pool(), attribute, &value));
  return value;
}

}  // namespace

void* allocate_on_device(std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  check(cudaMallocFromPoolAsync(&memory, bytes, current_pool(), stream));
  return memory;
}

void trim_pool() {
  check(cudaDeviceSynchronize());
  check(cudaMemPoolTrimTo(current_pool(), 0));
}

PoolUse pool_use() {
  return {value_of(cudaMemPoolAttrReservedMemCurrent), value_of(cudaMemPoolAttrUsedMemCurrent),
          value_of(cudaMemPoolAttrUsedMemHigh)};
}

void reset_peak() {
  std::uint64_t zero = 0;  // the only value that CUDA takes
  check(cudaMemPoolSetAttribute(current_pool(), cudaMemPoolAttrUsedMemHigh, &zero));
}

}  // namespace spdnn::cuda
