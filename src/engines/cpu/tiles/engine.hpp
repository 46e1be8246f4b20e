#pragma once

#include <memory>

#include "engines/engine.hpp"

namespace spdnn {

/// The variant cpu_openmp with the kernels of one of tiles::available_kernels(), by position: 0 is the best. Tests run
/// them all.
std::unique_ptr<Engine> make_cpu_openmp(std::shared_ptr<const Plan> plan, const EngineOptions& options,
                                        std::size_t instruction_set);

}  // namespace spdnn
