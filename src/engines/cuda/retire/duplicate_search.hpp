#pragma once

#include <cstdint>

#include "core/types/plan.hpp"

namespace spdnn::cuda {

/// An entry of the list of duplicates.
struct alignas(16) Duplicate {
  Index image;         ///< kNoImage: none
  Index duplicate_of;  ///< the image that it is equal to
  Index layer;         ///< the first one that it is not computed in
};
inline constexpr Index kNoImage = 0xffffffff;

/// How far an image was computed separately.
struct alignas(8) Ending {
  Index owner;  ///< the image that it became a duplicate of, or itself
  Index layer;  ///< the first one that it was not computed in, or after which it was all zero; otherwise the depth
};

/// The pass `identical` where the host does not know how many rows there are, as kernels take it;
/// retire/offered_duplicates.cuh says how it works. `list` is null where the pass is off.
struct DuplicateSearch {
  unsigned long long* tables[2];  ///< by side (engines may move rows to and fro): 2 row_mask + 2 keys
  std::uint32_t* hashes[2];       ///< by side and row
  std::uint32_t row_mask;         ///< the bits that numbers of rows take
  Duplicate* list;
  unsigned long long* listed;  ///< entries of the list; the higher half is the engine's
  Index* duplicates;           ///< among these
  Ending* endings;             ///< by image, written when it retires; null: not needed
  std::uint32_t* zero_at;      ///< by layer, one bit per image: all zero and yet not retired
  Index zero_layers;           ///< those in which this can happen
  Index zero_words;            ///< 32-bit words per layer
};

/// How large the arrays of a search are. Computed without CUDA: the emulated tests call it as the engines do.
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
