// cusparse_spgemm_filtered: Y and W sparse, cuSPARSE's SpGEMM, zeros and retired images dropped between products.
//
// The third of the three methods of Wang et al., HPEC 2019 (tables IV-IX). Keeps: W, the activations, both workspaces
// and the room for a product's result, as cusparse_spgemm_buffered. Frees: nothing before the end. Drops: every zero
// that the activation makes, on its way from the product's result to the next activations; rows of dead images are
// empty from there on, and leave, as saturated ones do, once more than a sixteenth of the rows are retired (under the
// passes `dead` and `saturated`).

#include "engines/cuda/spgemm/engine.hpp"

namespace spdnn {

namespace {

constexpr cuda::SpgemmPolicy kPolicy{.variant = "cusparse_spgemm_filtered", .keep_workspace = true, .filter = true};

}  // namespace

Support support_cusparse_spgemm_filtered(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return cuda::SpgemmEngine::support(plan, batch, options, kPolicy.variant);
}

std::unique_ptr<Engine> make_cusparse_spgemm_filtered(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                                      const EngineOptions& options) {
  return std::make_unique<cuda::SpgemmEngine>(*plan, options, kPolicy);
}

}  // namespace spdnn
