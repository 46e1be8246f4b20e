#pragma once

// Making, running and inspecting engines.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/types/counted_csr.hpp"
#include "engines/engine.hpp"
#include "engines/reference/engine.hpp"

namespace spdnn::testing {

/// A variant in one of its precisions.
struct Configuration {
  const Variant* variant;
  Precision precision;
};

/// The configurations of this build for which wants(variant, precision) is true.
template <class Wants>
std::vector<Configuration> configurations_that(Wants wants) {
  std::vector<Configuration> all;
  for (const Variant& variant : variants())
    for (const Precision precision : variant.precisions)
      if (wants(variant, precision)) all.push_back({&variant, precision});
  return all;
}

/// The engine's inspection interface, which all engines of this project have; std::bad_cast for one without it.
inline std::unique_ptr<InspectableEngine> inspectable(std::unique_ptr<Engine> engine) {
  auto& inside = dynamic_cast<InspectableEngine&>(*engine);
  (void)engine.release();
  return std::unique_ptr<InspectableEngine>(&inside);
}

/// Makes an engine as Variant::make does.
using MakeEngine =
    std::function<std::unique_ptr<Engine>(std::shared_ptr<const Plan>, const BatchInfo&, const EngineOptions&)>;

inline std::unique_ptr<InspectableEngine> engine_by(const MakeEngine& make, const Plan& plan, const ImageSet& images,
                                                    const EngineOptions& options) {
  return inspectable(make(std::make_shared<const Plan>(plan), batch_info(images), options));
}

/// An engine as a run makes it for these images. UsageError where the variant does not support them.
inline std::unique_ptr<InspectableEngine> engine_for(const Variant& variant, const Plan& plan, const ImageSet& images,
                                                     const EngineOptions& options = {}) {
  return inspectable(make_engine(variant, std::make_shared<const Plan>(plan), batch_info(images), options));
}

/// The oracle, for any images.
inline std::unique_ptr<InspectableEngine> oracle_engine(const Plan& plan, int threads = 0) {
  const EngineOptions options{.precision = Precision::fp64, .threads = threads};
  return inspectable(make_engine(oracle(), std::make_shared<const Plan>(plan), {}, options));
}

/// Runs layers first .. until-1, in as many steps as the engine takes; std::logic_error if advance() returns a value
/// that Engine does not allow.
inline void advance_to(Engine& engine, Index first, Index until) {
  while (first < until) {
    const Index next = engine.advance(first, until);
    if (next <= first || next > until)
      throw std::logic_error("advance(" + std::to_string(first) + ", " + std::to_string(until) + ") returned " +
                             std::to_string(next));
    first = next;
  }
}

/// Runs one trial, without stops between layers.
inline Outcome run_through(Engine& engine, Index depth) {
  engine.reset();
  advance_to(engine, 0, depth);
  return engine.outcome();
}

/// Whether the engine's activations without zeros, if it has them, are those with zeros, and no zero is among them.
inline bool sparse_agrees(InspectableEngine& engine, const std::vector<double>& activations) {
  const std::optional<CsrMatrix> sparse = engine.sparse_activations(CountedCsr::kUnlimited);
  if (!sparse) return true;
  EXPECT_THROW(engine.sparse_activations(sparse->bytes() - 1), std::bad_alloc);
  sparse->validate();
  if (std::size_t{sparse->rows} * sparse->cols != activations.size()) return false;
  std::vector<double> dense(activations.size(), 0.0);
  for (Index row = 0; row < sparse->rows; ++row)
    for (Offset k = sparse->offsets[row]; k < sparse->offsets[row + 1]; ++k)
      dense[std::size_t{row} * sparse->cols + sparse->indices[k]] = sparse->entry_value(k);
  const std::vector<float> expected(activations.begin(), activations.end());
  return std::equal(expected.begin(), expected.end(), dense.begin()) &&
         sparse->entries() == activations.size() - std::count(activations.begin(), activations.end(), 0.0);
}

}  // namespace spdnn::testing
