#pragma once

#include <cstddef>

#include "spdnn/images.hpp"

namespace spdnn {

/// The facts about a run's images that are needed before it; with several ranks, for all images together.
struct ImageFacts {
  Index images = 0;
  Index neurons = 0;
  std::size_t bytes = 0;    ///< in memory
  bool bits = true;         ///< held as bits
  bool binary = true;       ///< no value but 0 and 1
  bool within_unit = true;  ///< no value outside 0..1
  double largest = 0;       ///< absolute value of an entry; 1 for bits
  Offset most_entries = 0;  ///< of an image; not counted for bits
  bool repeats = false;     ///< an image may name a neuron twice

  bool operator==(const ImageFacts&) const = default;
};

/// O(1) for bits; otherwise one pass over the entries.
ImageFacts facts_of(const ImageSet& images);
/// The facts about two sets of images together, either of which may be empty.
ImageFacts join_facts(const ImageFacts& one, const ImageFacts& other);

}  // namespace spdnn
