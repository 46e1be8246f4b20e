#pragma once

#include <vector>

#include "engines/cpu/sparse_conv/filters.hpp"
#include "engines/cpu/sparse_int8/kernels.hpp"
#include "model/graph/quantised.hpp"
#include "model/graph/whole_weights.hpp"

// A step in int8, whose input is quantised (ByteForm) and whose weights are multiples of a scale (WholeWeights):
// y = s_x s_w(filter) sum p q + bias, where input and weights are s_x q and s_w p, each rounded to fp32. The sum is
// exact, so the result deviates from the oracle's, which has the rounded factors, by at most four roundings of each
// term: its own two, and those of s_x s_w and of the result.

namespace spdnn::sparse_int8 {

/// Whether the input's numbers q, less their zero point, are 0 to 255; otherwise they have at most 9 bits with a sign.
inline bool are_unsigned_bytes(const ByteForm& form) { return !form.is_signed && form.zero == 0; }

/// Weights p as filters of channels that lie together: rows of a CSR matrix whose columns are groups of them x taps.
struct WholeFilters {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<std::int32_t> weights;
  std::vector<float> scales;  ///< s_x s_w, of each filter

  sparse_conv::WeightRows rows(const std::vector<float>& bias) const;
};
/// `whole`: with the scales of the filters. `channels`: those that a filter reads.
WholeFilters whole_filters(const CsrMatrix& weights, const WholeWeights& whole, Index channels, Index taps,
                           std::int32_t together);
/// How many weights these have.
Offset whole_entries(const CsrMatrix& weights, Index channels, Index taps, std::int32_t together);

}  // namespace spdnn::sparse_int8
