#include "engines/cpu/conv/arena.hpp"

#include <algorithm>
#include <numeric>

namespace spdnn {

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

ArenaLayout lay_out(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  ArenaLayout layout{std::vector<std::size_t>(lifetimes.size()), 0};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t buffer : order) {
    const std::size_t size = aligned(lifetimes[buffer].bytes);
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(lifetimes[buffer], lifetimes[other])) continue;
      if (offset + size <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + aligned(lifetimes[other].bytes));
    }
    layout.offsets[buffer] = offset;
    layout.bytes = std::max(layout.bytes, offset + size);
    const auto place = std::upper_bound(placed.begin(), placed.end(), offset,
                                        [&](std::size_t at, std::size_t other) { return at < layout.offsets[other]; });
    placed.insert(place, buffer);
  }
  return layout;
}

}  // namespace spdnn
