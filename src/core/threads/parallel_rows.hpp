#pragma once

#include <cstddef>
#include <functional>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// The number of pieces to cut work on `entries` entries into: 1 if it is small, or inside a parallel region.
std::size_t useful_pieces(Offset entries);

/// Whether there are enough layers to occupy every thread.
bool enough_for_all_threads(std::size_t layers);

/// Calls work(k) for all layers: in parallel over layers if there are enough of them, otherwise in sequence, so that
/// each can be parallel inside.
void for_layers(std::size_t layers, const std::function<void(std::size_t)>& work);

/// Calls work(begin, end) in parallel on ranges of rows with nearly equal numbers of entries.
void for_row_ranges(const CsrMatrix& matrix, const std::function<void(Index begin, Index end)>& work);

}  // namespace spdnn
