#include "inference/run/outcomes.hpp"

#include <algorithm>

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

Outcome in_whole_run(Outcome outcome, const Work& work, Index depth) {
  for (Index& image : outcome.categories) image = work.id(image);
  for (Index& image : outcome.borderline) image = work.id(image);
  for (Overflow& overflow : outcome.overflow) overflow = {work.id(overflow.image), work.layer + overflow.layer};
  if (work.layer == 0) return outcome;
  outcome.alive.clear();
  if (!outcome.active.empty()) outcome.active.insert(outcome.active.begin(), work.layer, -1);
  outcome.active.resize(depth, -1);
  return outcome;
}

void merge_outcomes(Outcome& all, const std::vector<Outcome>& parts) {
  for (const Outcome& part : parts) append_outcome(all, part, 0);
  std::sort(all.categories.begin(), all.categories.end());
  std::sort(all.borderline.begin(), all.borderline.end());
  std::sort(all.overflow.begin(), all.overflow.end(),
            [](const Overflow& a, const Overflow& b) { return a.image < b.image; });
}

}  // namespace spdnn
