#pragma once

#include <memory>
#include <string>

#include "engines/model_engine.hpp"
#include "program/program.hpp"

namespace spdnn::program {

/// The program that an engine with these options and kernels would run for a whole batch; `options` have threads.
Program program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels);

/// The text under which a program that was made by program_for() with these is stored (program/stored.hpp).
std::string text_to_store(const Program& program, const Model& model, const ModelEngineOptions& options,
                          const Kernels& kernels);

/// The Support of a variant for the program: why_not is without its name.
Support support_of(const Program& program, const ModelEngineOptions& options);

/// An engine that offers these kernels; `options` have threads.
std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  const Kernels& kernels);

}  // namespace spdnn::program
