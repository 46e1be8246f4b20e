// spmm_rows: one warp per neuron and tile of 128 images, the longest sums first. It adds in the plan's order.
// kernels.cuh has the kernel and its cost. It takes any network, and is the choice where activations do not fit shared
// memory and no sum is much longer than the others: a warp adds up its neuron alone.

#include "engines/cuda/spmm/engine.hpp"

namespace spdnn {

std::unique_ptr<Engine> make_spmm_rows(const Plan& plan, const EngineOptions& options) {
  return cuda::make_spmm_engine(plan, options, rows_by_length);
}

std::size_t working_bytes_spmm_rows(const Plan& plan, const EngineOptions& options, Index images) {
  return cuda::spmm_engine_bytes(plan, options, images, rows_by_length);
}

}  // namespace spdnn
