#pragma once

#include <memory>
#include <span>
#include <string>

#include "engines/resident_layout.hpp"
#include "spdnn/engine.hpp"

namespace spdnn::cuda {

/// A tile shape that the `resident` engine is compiled for, and how many such blocks share a multiprocessor.
struct ResidentShape {
  TileShape tile;
  Index blocks;
};

/// All of them, in the order of preference: the first that fits a plan is taken.
std::span<const ResidentShape> resident_shapes();
/// Whether a plan's activations fit the tiles of a shape on the device of `options`.
bool fits(const Plan& plan, std::size_t shape, const EngineOptions& options);
/// An engine of a given shape: for tuning (tests/bench/kernel_bench.cpp) and tests. UsageError where it does not fit.
std::unique_ptr<Engine> make_resident(const Plan& plan, const EngineOptions& options, std::size_t shape);

}  // namespace spdnn::cuda
