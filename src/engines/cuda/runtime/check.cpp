#include "engines/cuda/runtime/check.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "core/system/out_of_memory.hpp"
#include "engines/cuda/runtime/device_info.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

template <class Failure = DeviceError>
[[noreturn]] void fail(const std::string& what, SourceLocation where) {
  throw Failure(fmt::format("{} ({}:{})", what, std::filesystem::path(where.file).filename().string(), where.line));
}

[[noreturn]] void fail_out_of_memory(SourceLocation where) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  cudaGetLastError();  // clears the error of a failed allocation, so that the next call does not report it
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) fail<OutOfMemory>("out of device memory", where);
  fail<OutOfMemory>(
      fmt::format("out of device memory: {:.1f} of {:.1f} GiB are free; a smaller batch takes less",
                  static_cast<double>(free_bytes) / (1U << 30U), static_cast<double>(total_bytes) / (1U << 30U)),
      where);
}

}  // namespace

void check(cudaError_t status, SourceLocation where) {
  switch (status) {
    case cudaSuccess:
      return;
    case cudaErrorMemoryAllocation:
      fail_out_of_memory(where);
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction: {
      std::string why_not;
      if (!cuda_available(&why_not)) fail(why_not, where);
      break;
    }
    default:
      break;
  }
  fail(fmt::format("CUDA: {} ({})", cudaGetErrorString(status), cudaGetErrorName(status)), where);
}

void check(cusparseStatus_t status, SourceLocation where) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  if (status == CUSPARSE_STATUS_ALLOC_FAILED) fail_out_of_memory(where);
  fail(fmt::format("cuSPARSE: {} ({})", cusparseGetErrorString(status), cusparseGetErrorName(status)), where);
}

void check(cublasStatus_t status, SourceLocation where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fail_out_of_memory(where);
  fail(fmt::format("cuBLAS: {} ({})", cublasGetStatusString(status), cublasGetStatusName(status)), where);
}

}  // namespace spdnn::cuda
