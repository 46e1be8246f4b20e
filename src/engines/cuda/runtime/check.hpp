#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

namespace spdnn::cuda {

/// The place of a call. std::source_location would do, but clang-tidy 14 cannot parse it.
struct SourceLocation {
  const char* file;
  int line;
  static constexpr SourceLocation current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// Turn a failed call into a DeviceError that names the reason and the place. Out of memory, no driver, no device and
/// an unsupported device have messages with a remedy. Success costs one comparison.
void check(cudaError_t status, SourceLocation where = SourceLocation::current());
void check(cusparseStatus_t status, SourceLocation where = SourceLocation::current());
void check(cublasStatus_t status, SourceLocation where = SourceLocation::current());

/// After a kernel launch: reports a failed launch.
inline void check_launch(SourceLocation where = SourceLocation::current()) { check(cudaGetLastError(), where); }

}  // namespace spdnn::cuda
