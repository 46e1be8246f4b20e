#include "inference/outcomes.hpp"

namespace spdnn {

namespace {

/// Adds counts by layer, each -1 where either was not counted.
void add_counts(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& part) {
  for (std::size_t layer = 0; layer < all.size(); ++layer) {
    const bool counted = all[layer] >= 0 && layer < part.size() && part[layer] >= 0;
    all[layer] = counted ? all[layer] + part[layer] : -1;
  }
}

}  // namespace

void append_outcome(Outcome& all, const Outcome& part, Index first) {
  for (const Index image : part.categories) all.categories.push_back(first + image);
  for (const Index image : part.borderline) all.borderline.push_back(first + image);
  for (const Overflow& overflow : part.overflow) all.overflow.push_back({first + overflow.image, overflow.layer});
  all.saturated += part.saturated;
  all.identical += part.identical;
  if (part.alive.empty()) all.alive.clear();
  for (std::size_t layer = 0; layer < all.alive.size(); ++layer) all.alive[layer] += part.alive[layer];
  add_counts(all.active, part.active);
}

}  // namespace spdnn
