#pragma once

#include "engines/cpu/sparse_conv/tiling.hpp"

namespace spdnn::sparse_conv {

/// Bytes of L1 that a tile may take: the rest is for sums and entries.
double bytes_for_tile();

/// Predicted cycles of the thread that takes longest.
double cycles_of(const Tiling& tiling, Offset entries, int threads);

/// Whether results should be fetched before they are stored.
bool fetches(const Tiling& tiling, Offset entries);

}  // namespace spdnn::sparse_conv
