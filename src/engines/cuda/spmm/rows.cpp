// spmm_rows: one warp per neuron and tile of 128 images, the longest sums first. It adds in the plan's order.
// kernels.cuh has the kernel and its cost. It takes any network, and is the choice where activations do not fit shared
// memory and no sum is much longer than the others: a warp adds up its neuron alone.

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
