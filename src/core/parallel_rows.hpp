#pragma once

#include <cstddef>
#include <functional>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Pieces worth making of work on so many entries: 1 when it is little or when a parallel region is entered already.
std::size_t useful_pieces(Offset entries);

/// Whether there are so many layers that all threads have their share of them.
bool enough_for_all_threads(std::size_t layers);

/// Calls work(k) for all layers: in parallel over layers where there are enough of them, else one after another, for
/// the work to be parallel within each.
void for_layers(std::size_t layers, const std::function<void(std::size_t)>& work);

/// Calls work(begin, end) in parallel on ranges of rows that hold nearly equal numbers of entries.
void for_row_ranges(const CsrMatrix& matrix, const std::function<void(Index begin, Index end)>& work);

}  // namespace spdnn
