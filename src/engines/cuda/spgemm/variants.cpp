// The three methods of Wang et al., HPEC 2019 (tables IV-IX): Y and W sparse, multiplied by cuSPARSE's SpGEMM. W and
// the activations stay on the device.

#include "engines/cuda/spgemm/engine.hpp"

namespace spdnn {

namespace {

using cuda::SpgemmEngine;
using cuda::SpgemmPolicy;

/// Frees both workspaces and the product's result after every product (cudaMalloc and cudaFree, which wait for the
/// device). Zeros made by the activation stay stored, so that after a few layers every row is full, and retired images
/// are still multiplied; `dead` and `saturated` only record their ends.
constexpr SpgemmPolicy kUnbuffered{.variant = "cusparse_spgemm_unbuffered", .keep_workspace = false, .filter = false};
/// Keeps both workspaces and the room for a product's result, which grow to the largest. Otherwise as unbuffered.
constexpr SpgemmPolicy kBuffered{.variant = "cusparse_spgemm_buffered", .keep_workspace = true, .filter = false};
/// As buffered, but drops every zero that the activation makes, on its way from the product's result to the next
/// activations. Rows of dead images are empty from there on, and leave, as saturated ones do, once more than a
/// sixteenth of the rows are retired (under the passes `dead` and `saturated`).
constexpr SpgemmPolicy kFiltered{.variant = "cusparse_spgemm_filtered", .keep_workspace = true, .filter = true};

}  // namespace

Support support_cusparse_spgemm_unbuffered(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return SpgemmEngine::support(plan, batch, options, kUnbuffered.variant);
}
Support support_cusparse_spgemm_buffered(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return SpgemmEngine::support(plan, batch, options, kBuffered.variant);
}
Support support_cusparse_spgemm_filtered(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return SpgemmEngine::support(plan, batch, options, kFiltered.variant);
}

std::unique_ptr<Engine> make_cusparse_spgemm_unbuffered(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                                        const EngineOptions& options) {
  return std::make_unique<SpgemmEngine>(*plan, options, kUnbuffered);
}
std::unique_ptr<Engine> make_cusparse_spgemm_buffered(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                                      const EngineOptions& options) {
  return std::make_unique<SpgemmEngine>(*plan, options, kBuffered);
}
std::unique_ptr<Engine> make_cusparse_spgemm_filtered(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                                      const EngineOptions& options) {
  return std::make_unique<SpgemmEngine>(*plan, options, kFiltered);
}

}  // namespace spdnn
