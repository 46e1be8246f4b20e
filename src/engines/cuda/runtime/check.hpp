#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

namespace spdnn::cuda {

/// Where a call stands, as std::source_location would say, which clang-tidy 14 cannot read.
struct SourceLocation {
  const char* file;
  int line;
  static constexpr SourceLocation current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// Turn a failed call into a DeviceError that names the reason and the place. Out of memory, no driver, no device and a
/// device this build has no code for get messages that say what to do. Success costs one comparison.
void check(cudaError_t status, SourceLocation where = SourceLocation::current());
void check(cusparseStatus_t status, SourceLocation where = SourceLocation::current());
void check(cublasStatus_t status, SourceLocation where = SourceLocation::current());

/// After a kernel launch: reports a launch that could not start.
inline void check_launch(SourceLocation where = SourceLocation::current()) { check(cudaGetLastError(), where); }

}  // namespace spdnn::cuda
