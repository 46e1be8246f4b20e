#include "program/arena.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace spdnn {

namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Buffers by when they live.
class Calendar {
 public:
  explicit Calendar(std::span<const Lifetime> lifetimes) : lifetimes_(lifetimes) {
    std::size_t steps = 0;
    for (const Lifetime& one : lifetimes) steps = std::max(steps, one.last + 1);
    alive_.resize(steps);
  }

  void add(std::size_t buffer) {
    const Lifetime& own = lifetimes_[buffer];
    if (own.last - own.first >= kShort) return long_.push_back(buffer);
    for (std::size_t step = own.first; step <= own.last; ++step) alive_[step].push_back(buffer);
  }

  /// The buffers that live while this one does.
  std::vector<std::size_t> beside(std::size_t buffer) const {
    const Lifetime& own = lifetimes_[buffer];
    std::vector<std::size_t> found;
    for (std::size_t step = own.first; step <= own.last; ++step)
      for (const std::size_t other : alive_[step])
        if (step == std::max(own.first, lifetimes_[other].first)) found.push_back(other);  // each once
    std::copy_if(long_.begin(), long_.end(), std::back_inserter(found),
                 [&](std::size_t other) { return meet(own, lifetimes_[other]); });
    return found;
  }

 private:
  static constexpr std::size_t kShort = 32;  ///< steps; those that live for longer are in one list

  std::span<const Lifetime> lifetimes_;
  std::vector<std::vector<std::size_t>> alive_;  ///< by step
  std::vector<std::size_t> long_;
};

}  // namespace

ArenaLayout lay_out(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  ArenaLayout layout{std::vector<std::size_t>(lifetimes.size()), 0};
  Calendar placed(lifetimes);
  for (const std::size_t buffer : order) {
    const std::size_t size = aligned(lifetimes[buffer].bytes);
    std::vector<std::size_t> others = placed.beside(buffer);
    std::sort(others.begin(), others.end(),
              [&](std::size_t a, std::size_t b) { return layout.offsets[a] < layout.offsets[b]; });
    std::size_t offset = 0;
    for (const std::size_t other : others) {
      if (offset + size <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + aligned(lifetimes[other].bytes));
    }
    layout.offsets[buffer] = offset;
    layout.bytes = std::max(layout.bytes, offset + size);
    placed.add(buffer);
  }
  return layout;
}

}  // namespace spdnn
