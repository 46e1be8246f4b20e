#include "engines/cuda/spgemm/product.hpp"

#include <algorithm>
#include <utility>

#include "engines/cuda/runtime/memory.hpp"

namespace spdnn::cuda {

namespace {

SparseMatrix describe(const SparseOperand& matrix) {
  SparseMatrix descriptor;
  check(cusparseCreateCsr(descriptor.out(), matrix.rows, matrix.cols, static_cast<std::int64_t>(matrix.entries),
                          const_cast<std::uint32_t*>(matrix.data.offsets), matrix.data.indices, matrix.data.values,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  return descriptor;
}

}  // namespace

void* Workspace::take(std::size_t bytes) {
  if (bytes > bytes_ || data_ == nullptr) {
    free();
    const std::size_t size = std::max<std::size_t>(bytes, 1);  // with null, cuSPARSE would compute the size again
    void* fresh = nullptr;
    if (cudaMalloc(&fresh, size) != cudaSuccess) {
      cudaGetLastError();
      trim_pool();
      check(cudaMalloc(&fresh, size));
    }
    data_ = fresh;
    bytes_ = bytes;
  }
  return data_;
}

void Workspace::free() {
  if (data_ == nullptr) return;
  cudaStreamSynchronize(stream_);  // enqueued work may still use it
  cudaFree(std::exchange(data_, nullptr));
  bytes_ = 0;
}

SpgemmProduct::SpgemmProduct(bool keep, cudaStream_t stream)
    : stream_(stream),
      estimation_(keep, stream),
      products_(keep, stream),
      offsets_(keep, stream),
      indices_(keep, stream),
      values_(keep, stream) {
  check(cusparseCreate(context_.out()));
  check(cusparseSetStream(context_, stream));
}

bool SpgemmProduct::multiply(const SparseOperand& a, const SparseOperand& b, std::size_t workspace_limit) {
  const SparseMatrix left = describe(a);
  const SparseMatrix right = describe(b);
  result_.offsets = static_cast<std::uint32_t*>(offsets_.take((std::size_t{a.rows} + 1) * sizeof(std::uint32_t)));
  SparseMatrix out;
  check(cusparseCreateCsr(out.out(), a.rows, b.cols, 0, result_.offsets, nullptr, nullptr, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  SpgemmState state;
  check(cusparseSpGEMM_createDescr(state.out()));

  const float one = 1.0F;
  const float zero = 0.0F;
  constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto estimate = [&](std::size_t& bytes, void* buffer) {
    return cusparseSpGEMM_workEstimation(context_, kAsIs, kAsIs, &one, left.get(), right.get(), &zero, out, CUDA_R_32F,
                                         CUSPARSE_SPGEMM_DEFAULT, state, &bytes, buffer);
  };
  const auto compute = [&](std::size_t& bytes, void* buffer) {
    return cusparseSpGEMM_compute(context_, kAsIs, kAsIs, &one, left.get(), right.get(), &zero, out, CUDA_R_32F,
                                  CUSPARSE_SPGEMM_DEFAULT, state, &bytes, buffer);
  };
  /// False if there are too many products; other failures throw.
  const auto fits = [](cusparseStatus_t status) {
    if (status != CUSPARSE_STATUS_INSUFFICIENT_RESOURCES) check(status);
    return status == CUSPARSE_STATUS_SUCCESS;
  };
  const auto run = [&](const auto& stage, Workspace& workspace) {
    std::size_t bytes = 0;
    return fits(stage(bytes, nullptr)) && bytes <= workspace_limit && fits(stage(bytes, workspace.take(bytes)));
  };
  if (!run(estimate, estimation_) || !run(compute, products_)) {
    estimation_.done();
    products_.done();
    offsets_.done();
    return false;
  }

  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;
  check(cusparseSpMatGetSize(out.get(), &rows, &cols, &entries));
  entries_ = static_cast<Offset>(entries);
  result_.indices = static_cast<Index*>(indices_.take(entries_ * sizeof(Index)));
  result_.values = static_cast<float*>(values_.take(entries_ * sizeof(float)));
  check(cusparseCsrSetPointers(out, result_.offsets, result_.indices, result_.values));
  check(cusparseSpGEMM_copy(context_, kAsIs, kAsIs, &one, left.get(), right.get(), &zero, out, CUDA_R_32F,
                            CUSPARSE_SPGEMM_DEFAULT, state));
  estimation_.done();
  products_.done();
  return true;
}

void SpgemmProduct::release() {
  offsets_.done();
  indices_.done();
  values_.done();
}

}  // namespace spdnn::cuda
