#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <source_location>

namespace spdnn::cuda {

/// Turn a failed call into a DeviceError that names the reason and the place. Out of memory, no driver, no device and a
/// device this build has no code for get messages that say what to do. Success costs one comparison.
void check(cudaError_t status, std::source_location where = std::source_location::current());
void check(cusparseStatus_t status, std::source_location where = std::source_location::current());
void check(cublasStatus_t status, std::source_location where = std::source_location::current());

/// After a kernel launch: reports a launch that could not start.
inline void check_launch(std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), where);
}

}  // namespace spdnn::cuda
