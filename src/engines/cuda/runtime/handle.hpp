#pragma once

#include <utility>

#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

/// Sole owner of a resource of the CUDA libraries. Empty until `out()` is handed to the call that creates it:
///   Event event;  check(cudaEventCreate(event.out()));
template <class T, auto destroy>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : resource_(std::exchange(other.resource_, T{})) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(resource_, other.resource_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { release(); }

  /// The pointer to pass to the call that creates the resource; an earlier one is destroyed first.
  T* out() {
    release();
    return &resource_;
  }
  T get() const { return resource_; }
  operator T() const { return resource_; }  // NOLINT(google-explicit-constructor): stands for the resource in calls
  explicit operator bool() const { return resource_ != T{}; }

 private:
  void release() {
    if (resource_ != T{}) destroy(std::exchange(resource_, T{}));
  }

  T resource_{};
};

using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using Event = Handle<cudaEvent_t, cudaEventDestroy>;
using Graph = Handle<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;
using SparseContext = Handle<cusparseHandle_t, cusparseDestroy>;
using SparseMatrix = Handle<cusparseSpMatDescr_t, cusparseDestroySpMat>;
using DenseMatrix = Handle<cusparseDnMatDescr_t, cusparseDestroyDnMat>;
using SpgemmState = Handle<cusparseSpGEMMDescr_t, cusparseSpGEMM_destroyDescr>;
using BlasContext = Handle<cublasHandle_t, cublasDestroy>;

/// A new stream, unordered with the default stream.
inline Stream make_stream() {
  Stream stream;
  check(cudaStreamCreateWithFlags(stream.out(), cudaStreamNonBlocking));
  return stream;
}

/// An event for ordering only: no time stamps.
inline Event make_event() {
  Event event;
  check(cudaEventCreateWithFlags(event.out(), cudaEventDisableTiming));
  return event;
}

}  // namespace spdnn::cuda
