#pragma once

#include <vector>

#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

template <class T>
std::vector<T> download(const T* device, std::size_t count) {
  std::vector<T> host(count);
  check(cudaDeviceSynchronize());
  if (count > 0) check(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

/// Waits for the device: a copy from pageable memory may return before it arrives, and streams do not wait for it.
template <class T>
void upload(T* device, const std::vector<T>& host) {
  check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  check(cudaDeviceSynchronize());
}

}  // namespace spdnn::cuda
