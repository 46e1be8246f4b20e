#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engines/cpu/sparse_conv/tiling.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::sparse_conv {

/// Filters of a group that one thread computes together.
struct Part {
  std::int32_t first;  ///< counted within the group
  std::int32_t count;
};

/// The rows of a part in a block of channels, those with the most entries first, so that the number of entries rarely
/// changes and the end of each row is predicted.
struct Block {
  std::int64_t row;    ///< the first in the array of rows
  std::int64_t entry;  ///< likewise
  std::int32_t rows;   ///< with entries; of the first and the last block all
};

/// A convolution's weights as a CSR matrix whose rows are filters. Columns ascend in each: channel x taps + tap.
struct WeightRows {
  std::span<const Offset> offsets;
  std::span<const Index> indices;
  std::function<Weight(Offset)> weight;
  std::span<const float> bias{};    ///< one for each filter, or empty: 0
  std::span<const float> scales{};  ///< likewise, of sums in int8
};

/// The weights of a convolution in the order in which a tiling reads them: one piece of memory
///
///   parts: groups x parts | blocks: groups x parts x blocks | rows | entries
class Filters {
 public:
  Filters(const Tiling& tiling, const std::byte* data);

  /// Bytes of that piece.
  static std::size_t bytes(const Tiling& tiling, Offset entries);
  static void pack(const Tiling& tiling, const WeightRows& weights, std::byte* to);
  /// Of fp32. `bias` may be empty.
  static void pack(const Tiling& tiling, const CsrMatrix& weights, const std::vector<float>& bias, std::byte* to);

  const Part& part(Extent group, Extent part) const { return parts_[group * parts_of_group_ + part]; }
  const Block& block(Extent group, Extent part, Extent block) const {
    return blocks_[(group * parts_of_group_ + part) * blocks_of_part_ + block];
  }
  const Row* rows(const Block& block) const { return rows_ + block.row; }
  const Entry* entries(const Block& block) const { return entries_ + block.entry; }

 private:
  Extent parts_of_group_;
  Extent blocks_of_part_;
  const Part* parts_;
  const Block* blocks_;
  const Row* rows_;
  const Entry* entries_;
};

}  // namespace spdnn::sparse_conv
