#pragma once

// Assigns groups of neurons to the warps and rounds of the `resident` engine; see layout.hpp.

#include <span>
#include <vector>

#include "engines/cuda/resident/layout.hpp"

namespace spdnn {

/// Groups first .. last-1.
struct GroupRange {
  Index first;
  Index last;
};
using Round = std::vector<GroupRange>;  ///< one bundle, or the pieces() of a split round
using WarpRounds = std::vector<Round>;  ///< a split round comes first

/// Assigns groups to a shape's warps. `halves`: half chunks of each group's sums, the longest first. Neighbouring
/// groups form a bundle, whose sums are padded to the longest. With `may_split`, if sums are so unequal that the warp
/// with the longest ones would outlast the others, some warps have a split round of one of the longest pieces and some
/// of the shortest. Throws std::invalid_argument if there are more groups than the shape has room for.
std::vector<WarpRounds> assign_rounds(std::span<const Index> halves, const TileShape& shape, bool may_split);

}  // namespace spdnn
