// spmm_merge: equal shares of rows and terms for each warp, whatever the lengths of the sums: short ones are bundled,
// long ones split. A split sum is the sum of its pieces' sums, in order: the same in every run and every plan, but not
// bit-identical with spmm_rows. kernels.cuh has the kernels and their cost. For skewed degrees.

#include <utility>

#include "engines/cuda/spmm/engine.hpp"

namespace spdnn {

namespace {

/// Rows and terms per warp: some microseconds of work, long enough to hide the start, short enough for an even end.
constexpr Index kShare = 256;

WorkList share_out(const CsrMatrix& weights) { return equal_shares(weights, kShare); }

}  // namespace

Support support_spmm_merge(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return cuda::spmm_support(plan, batch, options, {share_out, kShare});
}

std::unique_ptr<Engine> make_spmm_merge(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                        const EngineOptions& options) {
  return cuda::make_spmm_engine(std::move(plan), options, {share_out, kShare});
}

}  // namespace spdnn
