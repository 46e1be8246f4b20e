#pragma once

#include <algorithm>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn {

// Which images of a run are whose. A rank has at most one more than another, and with more ranks than images some have
// none.

/// Images first .. first+count-1.
struct ImageRange {
  Index first = 0;
  Index count = 0;
};

/// Consecutive shares, in the order of the ranks. For models, where all images cost the same.
inline ImageRange images_of_rank(Index images, int rank, int ranks) {
  const auto begin = [&](int number) {
    return static_cast<Index>(Offset{images} * static_cast<Offset>(number) / static_cast<Offset>(ranks));
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

/// Blocks of consecutive images, dealt round robin; ascending. For networks, where images that stay alive cost more
/// than those that die early and, in a file that is sorted, lie side by side. Blocks have kDealtBlock images, or fewer
/// where that makes less than kDealtBlocks for each rank.
inline std::vector<Index> images_dealt_to(Index images, int rank, int ranks) {
  constexpr Offset kDealtBlock = 32;  // a tile of the CPU's engine, a warp's images
  constexpr Offset kDealtBlocks = 16;
  const auto hands = static_cast<Offset>(ranks);
  const Offset block = std::clamp<Offset>(images / (hands * kDealtBlocks), 1, kDealtBlock);
  std::vector<Index> ids;
  ids.reserve(images / hands + 1);
  const auto add = [&](Offset first, Offset count) {
    for (Offset image = first; image < first + count; ++image) ids.push_back(static_cast<Index>(image));
  };
  const Offset dealt = images / (hands * block) * hands * block;  // in whole rounds; the rest in shares
  for (Offset first = static_cast<Offset>(rank) * block; first < dealt; first += hands * block) add(first, block);
  const ImageRange rest = images_of_rank(static_cast<Index>(images - dealt), rank, ranks);
  add(dealt + rest.first, rest.count);
  return ids;
}

}  // namespace spdnn
