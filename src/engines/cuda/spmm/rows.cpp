// spmm_rows: one warp per neuron and tile of 128 images, the longest sums first. It adds in the plan's order.
// kernels.cuh has the kernel and its cost. It supports any network, and suits networks whose activations do not fit in
// shared memory and whose sums have similar lengths, because one warp computes each sum.

#include <utility>

#include "engines/cuda/spmm/engine.hpp"

namespace spdnn {

Support support_spmm_rows(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return cuda::spmm_support(plan, batch, options, {rows_by_length});
}

std::unique_ptr<Engine> make_spmm_rows(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                       const EngineOptions& options) {
  return cuda::make_spmm_engine(std::move(plan), options, {rows_by_length});
}

}  // namespace spdnn
