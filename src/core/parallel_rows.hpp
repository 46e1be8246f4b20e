#pragma once

#include <cstddef>
#include <functional>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// How many pieces to cut work on that many entries into: 1 where it is little, or inside a parallel region.
std::size_t useful_pieces(Offset entries);

/// Whether there are enough layers to give every thread its share.
bool enough_for_all_threads(std::size_t layers);

/// Calls work(k) for all layers: in parallel over layers where there are enough of them, otherwise one after another,
/// so that the work can be parallel within each.
void for_layers(std::size_t layers, const std::function<void(std::size_t)>& work);

/// Calls work(begin, end) in parallel on ranges of rows that hold nearly equal numbers of entries.
void for_row_ranges(const CsrMatrix& matrix, const std::function<void(Index begin, Index end)>& work);

}  // namespace spdnn
