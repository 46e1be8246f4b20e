#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace spdnn {

/// A buffer's size, and the first and last step (inclusive) that need it.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Where each buffer lies in one block of memory: buffers that are needed at the same step do not overlap.
struct ArenaLayout {
  std::vector<std::size_t> offsets;  ///< by buffer, multiples of kArenaAlignment
  std::size_t bytes = 0;             ///< of the block
};

inline constexpr std::size_t kArenaAlignment = 64;  ///< a cache line, and the widest vector register

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Largest first, each at the lowest place that is free while it lives. Cost: that of looking, for each buffer, at
/// those that live at the same time, and at all that live for long.
ArenaLayout lay_out(std::span<const Lifetime> lifetimes);

}  // namespace spdnn
