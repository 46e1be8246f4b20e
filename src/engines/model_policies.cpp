// The variants conv_dense and sparse: programs of kernels of the CPU. A variant is a policy: the families of
// kernels.def that it allows.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "core/threads/parallel.hpp"
#include "engines/kernel_families.hpp"
#include "engines/variant_lines.hpp"
#include "program/engine.hpp"

namespace spdnn {

SPDNN_DECLARE_MODEL_VARIANT(conv_dense)
SPDNN_DECLARE_MODEL_VARIANT(sparse)

namespace {

ModelEngineOptions with_threads(ModelEngineOptions options) {
  options.threads = host_threads(options.threads);
  return options;
}

struct Offered {
  program::Kernels kernels{};
  std::string absent{};  ///< why kernels are missing that might be faster
};

/// bf16 is oneDNN's: without it no kernel computes in bf16.
Offered offered_by(bool skip_zeros, Precision precision) {
  Offered offered;
  for (const program::Family& family : kernel_families()) {
    if (family.device != Device::cpu) continue;
    if (!skip_zeros && family.zeros == program::Zeros::skipped) continue;
    const auto [kernels, why_not] = family.kernels(precision);
    offered.kernels.insert(offered.kernels.end(), kernels.begin(), kernels.end());
    if (!why_not.empty()) offered.absent = why_not;
  }
  return offered;
}

Support support_of_policy(const char* name, const Model& model, const ModelEngineOptions& options, bool skip_zeros) {
  const Offered offered = offered_by(skip_zeros, options.precision);
  if (options.precision == Precision::bf16 && !offered.absent.empty())
    return {.why_not = fmt::format("{}: {}", name, offered.absent)};
  const auto made =
      std::make_shared<const program::Program>(program::program_for(model, with_threads(options), offered.kernels));
  const program::Program& program = *made;
  Support support = program::support_of(program, options);
  support.program = program::described(program, model);
  support.stored_program = [made, &model, options = with_threads(options), kernels = offered.kernels] {
    return program::text_to_store(*made, model, options, kernels);
  };
  if (!support.takes()) support.why_not = fmt::format("{}: {}", name, support.why_not);
  if (skip_zeros && program.zeros_skipped.empty()) support.preference = Preference::last_resort;
  if (!offered.absent.empty())
    support.remarks.push_back(fmt::format("{}: kernels without a library run, which are slower", offered.absent));
  add_zeros_remark(model, program.zeros_skipped, support);
  return support;
}

std::unique_ptr<ModelEngine> make_of_policy(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                            bool skip_zeros) {
  if (options.threads > 0) require_threads(options.threads);
  return program::make(std::move(model), with_threads(options), offered_by(skip_zeros, options.precision).kernels);
}

}  // namespace

Support support_conv_dense(const Model& model, const ModelEngineOptions& options) {
  return support_of_policy("conv_dense", model, options, false);
}

std::unique_ptr<ModelEngine> make_conv_dense(std::shared_ptr<const Model> model, const ModelEngineOptions& options) {
  return make_of_policy(std::move(model), options, false);
}

/// Preferred if it skips zeros of any node.
Support support_sparse(const Model& model, const ModelEngineOptions& options) {
  return support_of_policy("sparse", model, options, true);
}

std::unique_ptr<ModelEngine> make_sparse(std::shared_ptr<const Model> model, const ModelEngineOptions& options) {
  return make_of_policy(std::move(model), options, true);
}

}  // namespace spdnn
