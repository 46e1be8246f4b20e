// cusparse_spgemm_buffered: Y and W sparse, cuSPARSE's SpGEMM, memory kept between products.
//
// The second of the three methods of Wang et al., HPEC 2019 (tables IV-IX). Keeps: W, the activations, both workspaces
// and the room for a product's result, which grow to the largest and stay. Frees: nothing before the end. Drops:
// nothing, as cusparse_spgemm_unbuffered, from which it differs in the allocations alone.

#include "engines/cuda/spgemm/engine.hpp"

namespace spdnn {

namespace {

constexpr cuda::SpgemmPolicy kPolicy{.variant = "cusparse_spgemm_buffered", .keep_workspace = true, .filter = false};

}  // namespace

Support support_cusparse_spgemm_buffered(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return cuda::SpgemmEngine::support(plan, batch, options, kPolicy.variant);
}

std::unique_ptr<Engine> make_cusparse_spgemm_buffered(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                                      const EngineOptions& options) {
  return std::make_unique<cuda::SpgemmEngine>(*plan, options, kPolicy);
}

}  // namespace spdnn
