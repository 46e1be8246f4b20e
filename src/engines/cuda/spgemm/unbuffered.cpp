// cusparse_spgemm_unbuffered: Y and W sparse, cuSPARSE's SpGEMM, memory taken for each product alone.
//
// The first of the three methods of Wang et al., HPEC 2019 (tables IV-IX). Keeps: W and the activations. Frees: both
// workspaces and the product's result after every product (cudaMalloc and cudaFree, which wait for the device). Drops:
// nothing. Zeros made by the activation stay stored, so that after a few layers every row is full, and images that are
// retired go on being multiplied; `dead` and `saturated` only record their ends.

#include "engines/cuda/spgemm/engine.hpp"

namespace spdnn {

namespace {

constexpr cuda::SpgemmPolicy kPolicy{.variant = "cusparse_spgemm_unbuffered", .keep_workspace = false, .filter = false};

}  // namespace

Support support_cusparse_spgemm_unbuffered(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return cuda::SpgemmEngine::support(plan, batch, options, kPolicy.variant);
}

std::unique_ptr<Engine> make_cusparse_spgemm_unbuffered(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                                        const EngineOptions& options) {
  return std::make_unique<cuda::SpgemmEngine>(*plan, options, kPolicy);
}

}  // namespace spdnn
