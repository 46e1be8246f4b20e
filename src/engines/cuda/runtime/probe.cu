// Whether the driver finds code in this program that the device can run.

#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

namespace {
__global__ void probe_kernel() {}
}  // namespace

bool has_code_for_device() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, probe_kernel) == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

}  // namespace spdnn::cuda
