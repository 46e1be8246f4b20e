// Whether the driver finds code in this program that the device can run. A device that has failed gives its error.

#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

namespace {
__global__ void probe_kernel() {}
}  // namespace

bool has_code_for_device() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe_kernel);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();
    return false;
  }
  check(status);
  return true;
}

}  // namespace spdnn::cuda
