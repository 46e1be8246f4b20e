// The variants conv_dense and sparse, programs of kernels of the CPU, and conv_direct, programs for a GPU. A variant is
// a policy: the families of kernels.def that it allows.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "engines/cpu/lanes/runnable.hpp"
#include "engines/devices.hpp"
#include "engines/kernel_families.hpp"
#include "engines/tuned_program.hpp"
#include "engines/variant_lines.hpp"
#include "model/graph/node_text.hpp"
#include "model/graph/quantised.hpp"
#include "program/calibration.hpp"
#include "program/engine.hpp"
#include "program/host_fallback.hpp"
#include "spdnn/error.hpp"

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
  program::Kernels skipping{};  ///< those of them that skip zeros
  std::string absent{};         ///< why kernels are missing that might be faster
};

/// bf16 is oneDNN's: without it no kernel computes in bf16.
Offered offered_by(bool skip_zeros, Precision precision) {
  Offered offered;
  for (const program::Family& family : kernel_families()) {
    if (family.device != Device::cpu) continue;
    if (!skip_zeros && family.zeros == program::Zeros::skipped) continue;
    const auto [kernels, why_not, target] = family.kernels(precision);
    offered.kernels.insert(offered.kernels.end(), kernels.begin(), kernels.end());
    if (family.zeros == program::Zeros::skipped)
      offered.skipping.insert(offered.skipping.end(), kernels.begin(), kernels.end());
    if (!why_not.empty()) offered.absent = why_not;
  }
  return offered;
}

/// How many nodes of a model with quantised values are computed in int8; empty for other models.
std::string whole_text(const program::Program& program, const Model& model) {
  if (quantised_values(model).empty()) return {};
  std::size_t whole = 0;
  std::vector<Index> others;
  for (const program::Action& action : program.actions) {
    if (action.kind != program::Action::Kind::step) continue;
    if (weights_or_null(model.nodes[action.step.node].operation) == nullptr) continue;
    if (program::is_bytes(action.inputs.front().layout.type))
      ++whole;
    else
      others.push_back(action.node);
  }
  std::string text = fmt::format("computed in int8: {} with weights", counted(whole, "node", "nodes"));
  if (!others.empty())
    text += fmt::format("; dequantised, in fp32: {}, the first of them {}", counted(others.size(), "node", "nodes"),
                        node_text(model, others.front()));
  return text;
}

Support support_of_policy(const char* name, const Model& model, const ModelEngineOptions& options, bool skip_zeros) {
  const Offered offered = offered_by(skip_zeros, options.precision);
  if (options.precision == Precision::bf16 && !offered.absent.empty())
    return {.why_not = fmt::format("{}: {}", name, offered.absent)};
  const auto made = std::make_shared<const program::Program>(
      program::program_for(model, with_threads(options), program::calibrated(offered.kernels)));
  const program::Program& program = *made;
  Support support = program::support_of(program, model, with_threads(options));
  support.program = program::described(program, model);
  support.compiled = made;
  support.stored_program = [made, &model, options = with_threads(options), kernels = offered.kernels] {
    return program::text_to_store(*made, model, options, kernels);
  };
  if (!support.takes()) support.why_not = fmt::format("{}: {}", name, support.why_not);
  if (skip_zeros && program.zeros_skipped.empty()) support.preference = Preference::last_resort;
  if (std::string text = whole_text(program, model); !text.empty()) support.remarks.push_back(std::move(text));
  if (!offered.absent.empty())
    support.remarks.push_back(fmt::format("{}: kernels without a library run, which are slower", offered.absent));
  if (skip_zeros && !lanes::runs_avx2())
    support.remarks.emplace_back(
        "convolutions skip zeros in portable code, which is slower, as the processor lacks AVX2");
  if (const std::string remark = program::calibration_remark(); !remark.empty()) support.remarks.push_back(remark);
  add_zeros_remark(model, program.zeros_skipped, support);
  return support;
}

std::unique_ptr<ModelEngine> make_of_policy(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                            const Support& support, bool skip_zeros) {
  if (options.threads > 0) require_threads(options.threads);
  return program::make(std::move(model), with_threads(options),
                       program::calibrated(offered_by(skip_zeros, options.precision).kernels), {},
                       support.compiled.get());
}

}  // namespace

Support support_conv_dense(const Model& model, const ModelEngineOptions& options) {
  return support_of_policy("conv_dense", model, options, false);
}

std::unique_ptr<ModelEngine> make_conv_dense(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                             const Support& support) {
  return make_of_policy(std::move(model), options, support, false);
}

/// Preferred if it skips zeros of any node.
Support support_sparse(const Model& model, const ModelEngineOptions& options) {
  return support_of_policy("sparse", model, options, true);
}

std::unique_ptr<ModelEngine> make_sparse(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                         const Support& support) {
  return make_of_policy(std::move(model), options, support, true);
}

#ifdef SPDNN_WITH_CUDA

SPDNN_DECLARE_MODEL_VARIANT(conv_direct)
SPDNN_DECLARE_MODEL_VARIANT(conv_generated)

namespace {

/// All kernels of GPUs, and those of the host for nodes that these do not support.
struct OfferedOnDevice {
  program::Kernels of_device{};
  std::vector<std::unique_ptr<program::Kernel>> of_host{};
  std::shared_ptr<program::Target> (*target)(int device) = nullptr;
  std::string why_not{};  ///< of a family that is absent
  program::Kernels all{};
};

/// With or without the family conv_generated.
const OfferedOnDevice& offered_on_device(bool generated, Precision precision) {
  static const auto make_offered = [](bool with_generated, Precision in) {
    auto* const made = new OfferedOnDevice;  // kernels refer to its parts
    for (const program::Family& family : kernel_families()) {
      if (family.device != Device::cuda || family.use != program::Use::programs) continue;
      if (family.name == "conv_generated" && !with_generated) continue;
      const program::FamilyKernels kernels = family.kernels(in);
      made->of_device.insert(made->of_device.end(), kernels.kernels.begin(), kernels.kernels.end());
      if (kernels.target != nullptr) made->target = kernels.target;
      if (!kernels.why_not.empty()) made->why_not = kernels.why_not;
    }
    made->all = made->of_device;
    for (const program::Kernel* const kernel : offered_by(true, Precision::fp32).kernels) {
      made->of_host.push_back(std::make_unique<program::HostFallback>(*kernel, made->of_device));
      made->all.push_back(made->of_host.back().get());
    }
    return made;
  };
  static const OfferedOnDevice* const offered[] = {make_offered(false, Precision::fp32),
                                                   make_offered(true, Precision::fp32),
                                                   make_offered(true, Precision::fp16_sums)};
  return *offered[!generated ? 0 : precision == Precision::fp16_sums ? 2 : 1];
}

/// Which nodes with weights are to add in fp16; notes name those whose code is not there in time.
std::string sums_text(const program::Program& program, const Model& model) {
  std::size_t in_halves = 0;
  std::vector<Index> others;
  for (const program::Action& action : program.actions) {
    if (action.kind != program::Action::Kind::step) continue;
    if (weights_or_null(model.nodes[action.step.node].operation) == nullptr) continue;
    if (action.output.layout.type == program::ElementType::fp16)
      ++in_halves;
    else
      others.push_back(action.node);
  }
  std::string text = fmt::format("planned with sums in fp16: {} with weights", counted(in_halves, "node", "nodes"));
  if (!others.empty())
    text += fmt::format("; in fp32: {}, the first of them {}", counted(others.size(), "node", "nodes"),
                        node_text(model, others.front()));
  return text;
}

/// The nodes of a program that run on the host, changes of layout apart.
std::vector<std::string> nodes_on_host(const program::Program& program, const Model& model) {
  std::vector<std::string> nodes;
  for (const program::Action& action : program.actions)
    if (action.kind == program::Action::Kind::step && !program::on_device(action.output.layout))
      nodes.push_back(node_text(model, action.node));
  return nodes;
}

Support support_on_device(const char* name, const Model& model, const ModelEngineOptions& options, bool generated) {
  if (const std::string why_not = why_unusable(Device::cuda, options.device); !why_not.empty())
    return {.why_not = fmt::format("{}: {}", name, why_not)};
  const OfferedOnDevice& offered = offered_on_device(generated, options.precision);
  const std::shared_ptr<program::Target> target = offered.target(options.device);
  const auto made = std::make_shared<const program::Program>(
      program::program_for(model, with_threads(options), offered.all, target.get()));
  const program::Program& program = *made;
  Support support = program::support_of(program, model, with_threads(options), target.get());
  support.program = program::described(program, model);
  support.stored_program = [made, &model, options = with_threads(options), &offered, target] {
    return program::text_to_store(*made, model, options, offered.all, target.get());
  };
  if (!support.takes()) support.why_not = fmt::format("{}: {}", name, support.why_not);
  if (generated) support.preference = Preference::last_resort;
  if (!offered.why_not.empty()) support.remarks.push_back(fmt::format("no code is generated: {}", offered.why_not));
  if (options.precision == Precision::fp16_sums) support.remarks.push_back(sums_text(program, model));
  if (const std::vector<std::string> nodes = nodes_on_host(program, model); !nodes.empty())
    support.remarks.push_back(fmt::format("{} on the host, the first of them {}",
                                          counted(nodes.size(), "node runs", "nodes run"), nodes.front()));
  add_zeros_remark(model, program.zeros_skipped, support);
  return support;
}

TunedProgram tuned_on_device(const Model& model, const ModelEngineOptions& options, bool generated) {
  const OfferedOnDevice& offered = offered_on_device(generated, options.precision);
  const std::shared_ptr<program::Target> target = offered.target(options.device);
  const ModelEngineOptions with = with_threads(options);
  const auto [program, calibration] = program::tuned_program_for(model, with, offered.all, {}, target.get());
  return {program::text_to_store(program, model, with, offered.all, target.get()), {}};
}

std::unique_ptr<ModelEngine> make_on_device(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                            bool generated) {
  const OfferedOnDevice& offered = offered_on_device(generated, options.precision);
  return program::make(std::move(model), with_threads(options), offered.all, offered.target(options.device));
}

}  // namespace

Support support_conv_direct(const Model& model, const ModelEngineOptions& options) {
  return support_on_device("conv_direct", model, options, false);
}

std::unique_ptr<ModelEngine> make_conv_direct(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                              const Support& /*support*/) {
  return make_on_device(std::move(model), options, false);
}

/// Chosen only by its name: compiling takes longer than many runs.
Support support_conv_generated(const Model& model, const ModelEngineOptions& options) {
  return support_on_device("conv_generated", model, options, true);
}

std::unique_ptr<ModelEngine> make_conv_generated(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                                 const Support& /*support*/) {
  return make_on_device(std::move(model), options, true);
}

#endif

TunedProgram tuned_program(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options) {
#ifdef SPDNN_WITH_CUDA
  if (variant.device == Device::cuda) return tuned_on_device(model, options, variant.name == "conv_generated");
#endif
  const bool skip_zeros = variant.name == "sparse";
  if (!skip_zeros && variant.name != "conv_dense")
    throw UsageError(fmt::format("{}: has no choice of kernels that could be measured", variant.name));
  const Offered offered = offered_by(skip_zeros, options.precision);
  const ModelEngineOptions with = with_threads(options);
  const auto [program, calibration] = program::tuned_program_for(model, with, offered.kernels, offered.skipping);
  return {program::text_to_store(program, model, with, offered.kernels), program::calibration_text(calibration)};
}

}  // namespace spdnn
