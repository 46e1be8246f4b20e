#pragma once

#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/spgemm/kernels.hpp"

namespace spdnn::cuda {

/// Reusable device memory: kept and grown, or allocated from the driver and freed each time.
class Workspace {
 public:
  Workspace(bool keep, cudaStream_t stream) : keep_(keep), stream_(stream) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { free(); }

  /// At least `bytes`; invalidates the result of an earlier call.
  void* take(std::size_t bytes);
  /// The memory is no longer needed.
  void done() {
    if (!keep_) free();
  }

 private:
  void free();

  bool keep_;
  cudaStream_t stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A sparse matrix as cuSPARSE reads it.
struct SparseOperand {
  Index rows = 0;
  Index cols = 0;
  Offset entries = 0;  ///< at most 2^31 - 1
  CsrRows<const std::uint32_t> data;
};

/// C = A B by cuSPARSE's generic SpGEMM (its default algorithm: fastest, deterministic, memory for every product).
class SpgemmProduct {
 public:
  /// keep: workspaces and result stay allocated from one product to the next.
  SpgemmProduct(bool keep, cudaStream_t stream);

  /// Both operands must have entries. Returns false, having done nothing lasting, where cuSPARSE wants more than
  /// `workspace_limit` bytes or more products than it can count: ask again with fewer rows. The sizes that cuSPARSE
  /// hands to the host make this wait for the stream several times.
  bool multiply(const SparseOperand& a, const SparseOperand& b, std::size_t workspace_limit);

  /// The result of the last product, until release().
  const CsrRows<std::uint32_t>& result() const { return result_; }
  Offset entries() const { return entries_; }
  /// The result has been read by work enqueued before.
  void release();

 private:
  cudaStream_t stream_;
  SparseContext context_;
  Workspace estimation_;
  Workspace products_;
  Workspace offsets_;
  Workspace indices_;
  Workspace values_;
  CsrRows<std::uint32_t> result_;
  Offset entries_ = 0;
};

}  // namespace spdnn::cuda
