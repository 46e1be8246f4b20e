#pragma once

// Which groups of neurons each warp of the `resident` engine handles in each round; see layout.hpp.

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
/// groups form a bundle, as its sums are padded to the longest. Where sums are so unequal that the warp with the
/// longest ones would outlast the others, and with `may_split`, some warps have a split round of one of the longest
/// pieces and some of the shortest. Throws std::invalid_argument where there are more groups than the shape has room
/// for.
std::vector<WarpRounds> assign_rounds(std::span<const Index> halves, const TileShape& shape, bool may_split);

}  // namespace spdnn
