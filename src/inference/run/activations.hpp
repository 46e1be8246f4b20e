#pragma once

#include <vector>

#include "engines/engine.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The loaded images' activations after the last advanced layer, of `neurons` stored neurons: one row per image,
/// without zeros. std::bad_alloc where taking them from the engine takes more than `most` bytes.
CsrMatrix stored_activations(InspectableEngine& engine, Index images, Index neurons, std::size_t most);

/// The activations of the given network's output neurons, from those of the neurons that the plan stores in their
/// place: twins get the value of the neuron that was computed for them, and neurons that are always zero have none.
CsrMatrix given_activations(const CsrMatrix& stored, const Plan& plan);

/// The rows of all matrices, which have equally many columns, or no rows. Row r of matrix m becomes row places[m][r];
/// without places they follow one another.
CsrMatrix join_rows(const std::vector<CsrMatrix>& parts, const std::vector<std::vector<Index>>& places = {});

/// UsageError if the passes change the rounding of activations, as those of a merged plan do: its bounds decide on
/// categories.
void require_exact_activations(const Passes& passes);

/// A batch's activations of the neurons that the plan stores, once its last layer has been run. UsageError if the
/// engine does not provide them, DeviceError if they exceed the free host memory.
CsrMatrix final_activations(Engine& engine, const Plan& plan, const ImageSet& batch, const EngineOptions& options);

}  // namespace spdnn
