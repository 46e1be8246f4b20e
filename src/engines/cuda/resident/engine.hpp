#pragma once

#include <memory>
#include <vector>

#include "engines/cuda/resident/shapes.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda {

/// The engine's compiled shapes in order of preference: a plan uses the first that fits.
std::vector<ResidentShape> resident_shapes(Precision precision = Precision::fp32);
/// Whether a plan's activations fit the tiles of a shape, by its number among those of the precision of `options`, on
/// the device of `options`.
bool fits(const Plan& plan, std::size_t shape, const EngineOptions& options);
/// An engine of a given shape: for tuning (tests/bench/kernel_bench.cpp) and tests. UsageError if it does not fit.
std::unique_ptr<Engine> make_resident(std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                                      const EngineOptions& options, std::size_t shape);

}  // namespace spdnn::cuda
