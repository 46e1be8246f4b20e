#include "program/compile_for.hpp"

#include <fmt/format.h>

#include "program/engine.hpp"
#include "program/stored.hpp"
#include "program/threads.hpp"

namespace spdnn::program {

namespace {

bool takes_any_batch(const Model& model) {
  const Shape& input = model.values[model.inputs.front()].shape;
  return !input.empty() && input.front() == kBatchExtent;
}

Index images_at_once(const Model& model, const ModelEngineOptions& options, const Target* target) {
  return parts_for(model, options, options.batch, target).images;
}

}  // namespace

Parts parts_for(const Model& model, const ModelEngineOptions& options, Index batch, const Target* target) {
  if (!takes_any_batch(model)) return {1};
  return target != nullptr ? Parts{batch} : parts_of(model, batch, options.threads);
}

CompileOptions compile_options(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                               Target* target) {
  // With a fixed batch, each node's rows are those of all images.
  const Parts chosen_for = parts_for(model, options, options.images_for_kernels(), target);
  const Parts parts = parts_for(model, options, options.batch, target);
  const int threads = target != nullptr ? options.threads : useful_threads(model, parts.images, options.threads).count;
  return {.precision = options.precision,
          .type = options.precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32,
          .kernels_for = chosen_for.images,
          .epilogues = options.epilogues,
          .threads = parts.teams > 1 ? 1 : threads,
          .compile_seconds = options.compile_seconds,
          .kernels = kernels,
          .target = target};
}

Program program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels, Target* target) {
  const CompileOptions with = compile_options(model, options, kernels, target);
  const Threads threads(with.threads);
  if (target != nullptr) target->use();
  return stored_or_compiled(model, Magnitudes(model), images_at_once(model, options, target), with);
}

Tuned tuned_program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                        const Kernels& skipping, Target* target) {
  const CompileOptions with = compile_options(model, options, kernels, target);
  const Threads threads(with.threads);
  if (target != nullptr) target->use();
  return tuned(model, Magnitudes(model), images_at_once(model, options, target), with, skipping);
}

std::string text_to_store(const Program& program, const Model& model, const ModelEngineOptions& options,
                          const Kernels& kernels, Target* target) {
  const Origin origin =
      origin_of(model, images_at_once(model, options, target), compile_options(model, options, kernels, target));
  return stored_text(program, origin, options.batch);
}

Support support_of(const Program& program, const Model& model, const ModelEngineOptions& options, Target* target) {
  if (target != nullptr) {
    const std::size_t bytes =
        program.device_arena.bytes + program.device_constant_bytes + 2 * program.device_image_bytes;
    const std::size_t budget = target->memory_budget();
    Support support{.working_bytes = bytes, .remarks = program.remarks};
    support.too_large = bytes > budget;
    if (support.too_large)
      support.why_not = fmt::format(
          "needs {} bytes of the device's memory for weights and activations; {} are available", bytes, budget);
    return support;
  }
  const Parts parts = parts_for(model, options, options.batch, target);
  const std::size_t bytes = program.arena.bytes * static_cast<std::size_t>(parts.teams) + program.constant_bytes;
  Support support{.working_bytes = bytes, .remarks = program.remarks};
  const UsefulThreads useful = useful_threads(model, parts.images, options.threads);
  if (parts.teams == 1 && useful.count < options.threads) {
    support.threads = useful.count;
    support.remarks.push_back(fmt::format("computed by {} of {} threads, as a node with weights takes {:.2g} us of one",
                                          useful.count, options.threads, useful.seconds_of_node * 1e6));
  }
  support.too_large = options.host_memory != 0 && bytes > options.host_memory;
  if (support.too_large)
    support.why_not =
        fmt::format("needs {} bytes for weights and activations; {} are available", bytes, options.host_memory);
  return support;
}

}  // namespace spdnn::program
