#include "engines/cuda/conv_direct/copies.hpp"

#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/staging.hpp"

namespace spdnn::cuda {

namespace {

/// From this size on, copying by pieces is faster than the driver's copy of pageable memory.
constexpr std::size_t kLong = std::size_t{1} << 20U;

}  // namespace

void copy_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes >= kLong)
    Staging().copy(to, from, bytes, cudaStreamPerThread);
  else
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread));
}

void copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes >= kLong) return Staging().fetch(to, from, bytes, cudaStreamPerThread);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread));
  check(cudaStreamSynchronize(cudaStreamPerThread));
}

}  // namespace spdnn::cuda
