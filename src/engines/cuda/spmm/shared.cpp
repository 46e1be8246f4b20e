// spmm_shared: one warp for up to 16 neurons that have the same inputs in the same order, and a tile of 128 images. An
// activation is read once for all of them, and every edge is computed, in the plan's order; weights may all differ.
// kernels.cuh has the kernel and its cost. For networks with blocks of weights, such as the official ones.

#include <utility>

#include "engines/cuda/spmm/engine.hpp"

namespace spdnn {

namespace {

/// `auto` takes this variant if it reads at most this fraction of the bytes of spmm_rows (a sixteenth in the official
/// networks), and layers are wider than this: `resident` is faster at 4096 neurons and slower at 16384
/// (results/h200/structure_free.md).
constexpr double kFewReads = 0.125;
constexpr Index kWide = 8192;

cuda::ShareOut share_out() { return {.list = rows_by_inputs, .cut_at = 0, .shared = true}; }

}  // namespace

Support support_spmm_shared(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  Support support = cuda::spmm_support(plan, batch, options, share_out());
  if (plan.max_width() <= kWide || share_of_reads(plan) > kFewReads) support.preference = Preference::last_resort;
  return support;
}

std::unique_ptr<Engine> make_spmm_shared(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                         const EngineOptions& options) {
  return cuda::make_spmm_engine(std::move(plan), options, share_out());
}

}  // namespace spdnn
