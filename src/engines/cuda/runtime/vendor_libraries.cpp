// The functions of cuSPARSE and cuBLAS that the engines call, defined here under their own names: each forwards to the
// library, which is opened at the first call. Linked as usual, the two libraries, 600 MB, would be loaded at every
// start of the program, though few runs use them. The vendor's headers document the functions, and the compiler checks
// these definitions against them.

#include <fmt/format.h>

#include "core/system/shared_library.hpp"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

SharedLibrary vendor_library(const char* name, int major) {
  return {{fmt::format("lib{}.so.{}", name, major)},
          "it comes with the CUDA toolkit; conv_lowered and the variants named cusparse_* and cublas_* need theirs"};
}

const SharedLibrary& cusparse() {
  static const SharedLibrary library = vendor_library("cusparse", CUSPARSE_VER_MAJOR);
  return library;
}

const SharedLibrary& cublas() {
  static const SharedLibrary library = vendor_library("cublas", CUBLAS_VER_MAJOR);
  return library;
}

}  // namespace

}  // namespace spdnn::cuda

#define SPDNN_TEXT_OF(name) #name
/// The inner macro's argument is expanded first: cublas_v2.h maps cublasCreate to the symbol cublasCreate_v2.
#define SPDNN_FORWARD(library, result, name, parameters, arguments)                                        \
  result name parameters {                                                                                 \
    static auto* const function = spdnn::cuda::library().function<result parameters>(SPDNN_TEXT_OF(name)); \
    return function arguments;                                                                             \
  }

extern "C" {

SPDNN_FORWARD(cusparse, const char*, cusparseGetErrorName, (cusparseStatus_t status), (status))
SPDNN_FORWARD(cusparse, const char*, cusparseGetErrorString, (cusparseStatus_t status), (status))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseCreate, (cusparseHandle_t * handle), (handle))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseDestroy, (cusparseHandle_t handle), (handle))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSetStream, (cusparseHandle_t handle, cudaStream_t stream),
              (handle, stream))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseCreateCsr,
              (cusparseSpMatDescr_t * matrix, int64_t rows, int64_t cols, int64_t entries, void* offsets, void* indices,
               void* values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,
               cudaDataType value_type),
              (matrix, rows, cols, entries, offsets, indices, values, offset_type, index_type, base, value_type))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseCsrSetPointers,
              (cusparseSpMatDescr_t matrix, void* offsets, void* indices, void* values),
              (matrix, offsets, indices, values))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpMatGetSize,
              (cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* cols, int64_t* entries),
              (matrix, rows, cols, entries))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseDestroySpMat, (cusparseConstSpMatDescr_t matrix), (matrix))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseCreateDnMat,
              (cusparseDnMatDescr_t * matrix, int64_t rows, int64_t cols, int64_t stride, void* values,
               cudaDataType value_type, cusparseOrder_t order),
              (matrix, rows, cols, stride, values, value_type, order))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseDestroyDnMat, (cusparseConstDnMatDescr_t matrix), (matrix))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpMM_bufferSize,
              (cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
               cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void* beta, cusparseDnMatDescr_t c,
               cudaDataType compute_type, cusparseSpMMAlg_t algorithm, size_t* buffer_size),
              (handle, op_a, op_b, alpha, a, b, beta, c, compute_type, algorithm, buffer_size))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpMM,
              (cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
               cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void* beta, cusparseDnMatDescr_t c,
               cudaDataType compute_type, cusparseSpMMAlg_t algorithm, void* buffer),
              (handle, op_a, op_b, alpha, a, b, beta, c, compute_type, algorithm, buffer))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpGEMM_createDescr, (cusparseSpGEMMDescr_t * state), (state))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpGEMM_destroyDescr, (cusparseSpGEMMDescr_t state), (state))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpGEMM_workEstimation,
              (cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
               cudaDataType compute_type, cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t state,
               size_t* buffer_size, void* buffer),
              (handle, op_a, op_b, alpha, a, b, beta, c, compute_type, algorithm, state, buffer_size, buffer))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpGEMM_compute,
              (cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
               cudaDataType compute_type, cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t state,
               size_t* buffer_size, void* buffer),
              (handle, op_a, op_b, alpha, a, b, beta, c, compute_type, algorithm, state, buffer_size, buffer))
SPDNN_FORWARD(cusparse, cusparseStatus_t, cusparseSpGEMM_copy,
              (cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
               cudaDataType compute_type, cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t state),
              (handle, op_a, op_b, alpha, a, b, beta, c, compute_type, algorithm, state))

SPDNN_FORWARD(cublas, const char*, cublasGetStatusName, (cublasStatus_t status), (status))
SPDNN_FORWARD(cublas, const char*, cublasGetStatusString, (cublasStatus_t status), (status))
SPDNN_FORWARD(cublas, cublasStatus_t, cublasCreate, (cublasHandle_t * handle), (handle))
SPDNN_FORWARD(cublas, cublasStatus_t, cublasDestroy, (cublasHandle_t handle), (handle))
SPDNN_FORWARD(cublas, cublasStatus_t, cublasSetStream, (cublasHandle_t handle, cudaStream_t stream), (handle, stream))
SPDNN_FORWARD(cublas, cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode), (handle, mode))
SPDNN_FORWARD(cublas, cublasStatus_t, cublasGemmEx,
              (cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
               const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b, cudaDataType b_type,
               int ldb, const void* beta, void* c, cudaDataType c_type, int ldc, cublasComputeType_t compute_type,
               cublasGemmAlgo_t algorithm),
              (handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute_type,
               algorithm))

}  // extern "C"
