#pragma once

// Converts the results of engines that retire images on the device to an Outcome.

#include <bit>
#include <cstdint>
#include <vector>

#include "engines/engine.hpp"

namespace spdnn::cuda {

/// The images among the first `images` whose bit is set, ascending: bit i % 32 of word i / 32 is image i's.
inline std::vector<Index> images_of(const std::uint32_t* words, Index images) {
  std::vector<Index> found;
  for (Index first = 0; first < images; first += 32)
    for (std::uint32_t word = words[first / 32]; word != 0; word &= word - 1)
      found.push_back(first + static_cast<Index>(std::countr_zero(word)));
  return found;
}

/// Appends the counts of the kernels by layer: `live` images among the active, `saturated` of these retired at the cap,
/// where they stay alive, and by how much the number of `duplicates` of images that are alive changes (unsigned). From
/// layer `counted` on, nothing was computed or counted.
template <class LayerCount>
void add_layer_counts(const LayerCount* counts, Index counted, Index depth, Outcome& outcome) {
  outcome.alive.reserve(depth);
  decltype(counts->duplicates + counts->duplicates) duplicates = 0;
  for (Index k = 0; k < counted; ++k) {
    duplicates += counts[k].duplicates;
    outcome.alive.push_back(outcome.saturated + static_cast<std::int64_t>(counts[k].live + duplicates));
    outcome.active.push_back(static_cast<std::int64_t>(counts[k].live) -
                             static_cast<std::int64_t>(counts[k].saturated));
    outcome.saturated += static_cast<std::int64_t>(counts[k].saturated);
  }
  outcome.alive.resize(depth, outcome.saturated + static_cast<std::int64_t>(duplicates));
  outcome.active.resize(depth, 0);
}

}  // namespace spdnn::cuda
