#pragma once

#include <algorithm>
#include <numeric>
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

inline constexpr Index kDealtBlock = 32;  ///< images of a tile of the CPU's engine, and of a warp

/// The number of consecutive images dealt to one rank: kDealtBlock, or fewer if that makes less than 16 blocks for
/// each.
inline Index dealt_block(Index images, int ranks) {
  return std::clamp<Index>(images / (static_cast<Index>(ranks) * 16), 1, kDealtBlock);
}

/// Blocks of consecutive images, dealt round robin; ascending. For networks, where images that stay alive cost more
/// than those that die early and, in a file that is sorted, lie side by side.
inline std::vector<Index> images_dealt_to(Index images, int rank, int ranks) {
  const auto hands = static_cast<Offset>(ranks);
  const Offset block = dealt_block(images, ranks);
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

/// The order in which ranks take images from a counter: the same blocks, from one to the next the golden section of all
/// of them, so that whatever lies side by side in a file is spread over the batches.
inline std::vector<Index> taken_order(Index images, int ranks) {
  const Index block = dealt_block(images, ranks);
  const Offset blocks = images / block;
  Offset step = std::max<Offset>(1, blocks * 618 / 1000);
  while (std::gcd(step, blocks) > 1 && blocks > 0) ++step;
  std::vector<Index> order(images);
  auto next = order.begin();
  const auto add = [&](Offset first, Offset count) {
    std::iota(next, next + static_cast<std::ptrdiff_t>(count), static_cast<Index>(first));
    next += static_cast<std::ptrdiff_t>(count);
  };
  for (Offset i = 0; i < blocks; ++i) add(i * step % blocks * block, block);
  add(blocks * block, images - blocks * block);
  return order;
}

}  // namespace spdnn
