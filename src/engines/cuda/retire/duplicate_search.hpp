#pragma once

#include <cstdint>

#include "core/types/plan.hpp"

namespace spdnn::cuda {

/// An entry of the list of duplicates.
struct alignas(16) Duplicate {
  Index image;         ///< kNoImage: none
  Index duplicate_of;  ///< the image that it is equal to
  Index layer;         ///< the first layer that does not compute it
  Index rest = 0;      ///< of 16 bytes, which one store writes
};
inline constexpr Index kNoImage = 0xffffffff;

/// How far an image was computed separately.
struct alignas(8) Ending {
  Index owner;  ///< the image that it became a duplicate of, or itself
  Index layer;  ///< the first layer that did not compute it, or after which it was all zero; otherwise the depth
};

/// Arguments of kernels for the pass `identical` if the host does not know the number of rows;
/// retire/offered_duplicates.cuh describes the algorithm. `list` is null if the pass is off.
struct DuplicateSearch {
  unsigned long long* tables[2];  ///< by side (engines may move rows to and fro): 2 row_mask + 2 keys
  std::uint32_t* hashes[2];       ///< by side and row
  std::uint32_t row_mask;         ///< the width of row numbers in bits
  Duplicate* list;
  unsigned long long* listed;  ///< entries of the list; the higher half is the engine's
  Index* duplicates;           ///< among these
  Ending* endings;             ///< by image, written when it retires; null: not needed
  std::uint32_t* zero_at;      ///< by layer, one bit per image: all zero and yet not retired
  Index zero_layers;           ///< those in which this can happen
  Index zero_words;            ///< 32-bit words per layer
};

/// Sizes of the arrays of a search. Computed without CUDA: the emulated tests call it as the engines do.
struct DuplicateSearchSizes {
  std::uint32_t row_mask = 0;
  Index zero_layers = 0;
  Index zero_words = 0;

  DuplicateSearchSizes() = default;
  DuplicateSearchSizes(const Plan& plan, Index images);

  std::size_t table_entries() const { return 2 * (std::size_t{row_mask} + 1); }
  std::size_t table_bytes() const { return table_entries() * sizeof(unsigned long long); }
  std::size_t zero_entries() const { return std::size_t{zero_layers} * zero_words; }
  std::size_t zero_bytes() const { return zero_entries() * sizeof(std::uint32_t); }
};

}  // namespace spdnn::cuda
