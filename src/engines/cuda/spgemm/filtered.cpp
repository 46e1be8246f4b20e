// cusparse_spgemm_filtered: Y and W sparse, cuSPARSE's SpGEMM, zeros and retired images dropped between products.
//
// The third of the three methods of Wang et al., HPEC 2019 (tables IV-IX). Keeps: W, the activations, both workspaces
// and the room for a product's result, as cusparse_spgemm_buffered. Frees: nothing before the end. Drops: every zero
// that the activation makes, on its way from the product's result to the next activations; rows of dead images are
// empty from there on, and leave, as saturated ones do, once more than a sixteenth of the rows are retired (under the
// passes `dead` and `saturated`).

#include "engines/cuda/spgemm/engine.hpp"

namespace spdnn {

std::unique_ptr<Engine> make_cusparse_spgemm_filtered(const Plan& plan, const EngineOptions& options) {
  const cuda::SpgemmPolicy policy{.variant = "cusparse_spgemm_filtered", .keep_workspace = true, .filter = true};
  return std::make_unique<cuda::SpgemmEngine>(plan, options, policy);
}

std::size_t working_bytes_cusparse_spgemm_filtered(const Plan& plan, const EngineOptions& options, Index images) {
  return cuda::SpgemmEngine::device_bytes(plan, options, images);
}

}  // namespace spdnn
