#pragma once

#include <memory>
#include <string>

#include "engines/model_engine.hpp"
#include "program/program.hpp"
#include "program/target.hpp"
#include "program/tune.hpp"

namespace spdnn::program {

// `target` is that of kernels that run on a device; null if all run on the host.

/// The program that an engine with these options and kernels would run for a whole batch; `options` have threads.
Program program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                    Target* target = nullptr);

/// The same with kernels by measured times, see tuned(). `skipping`: those of `kernels` that skip zeros.
Tuned tuned_program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                        const Kernels& skipping, Target* target = nullptr);

/// The text under which a program that program_for() made with these is stored (program/stored.hpp).
std::string text_to_store(const Program& program, const Model& model, const ModelEngineOptions& options,
                          const Kernels& kernels, Target* target = nullptr);

/// The Support of a variant for the program: why_not is without its name.
Support support_of(const Program& program, const Model& model, const ModelEngineOptions& options,
                   Target* target = nullptr);

/// An engine that offers these kernels; `options` have threads. `compiled`: what program_for() made with these.
std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  const Kernels& kernels, std::shared_ptr<Target> target = {},
                                  const Program* compiled = nullptr);

}  // namespace spdnn::program
