#include "engines/cpu/sparse_int8/whole.hpp"

#include <algorithm>
#include <utility>

namespace spdnn::sparse_int8 {

sparse_conv::WeightRows WholeFilters::rows(const std::vector<float>& bias) const {
  const auto weight = [this](Offset k) { return sparse_conv::Weight{.wholes = weights[k]}; };
  return {offsets, indices, weight, bias, scales};
}

WholeFilters whole_filters(const CsrMatrix& weights, const WholeWeights& whole, Index channels, Index taps,
                           std::int32_t together) {
  const auto count = static_cast<Index>(together);
  const Index bits = 32 / count;
  const std::uint32_t mask = (1U << bits) - 1;
  WholeFilters filters;
  filters.scales = whole.scales;
  std::vector<std::uint32_t> of_row(std::size_t{(channels + count - 1) / count} * taps);
  std::vector<Index> used;
  for (Index row = 0; row < weights.rows; ++row) {
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
      const Index channel = weights.indices[k] / taps;
      const Index column = channel / count * taps + weights.indices[k] % taps;
      if (of_row[column] == 0) used.push_back(column);
      of_row[column] |= (static_cast<std::uint32_t>(whole.numbers[k]) & mask) << channel % count * bits;
    }
    std::sort(used.begin(), used.end());
    for (const Index column : used) {
      filters.indices.push_back(column);
      filters.weights.push_back(static_cast<std::int32_t>(std::exchange(of_row[column], 0)));
    }
    used.clear();
    filters.offsets.push_back(filters.indices.size());
  }
  return filters;
}

Offset whole_entries(const CsrMatrix& weights, Index channels, Index taps, std::int32_t together) {
  const auto count = static_cast<Index>(together);
  std::vector<Index> rows(std::size_t{(channels + count - 1) / count} * taps);  // of the last weight, from 1, by column
  Offset entries = 0;
  for (Index row = 0; row < weights.rows; ++row)
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
      const Index column = weights.indices[k] / taps / count * taps + weights.indices[k] % taps;
      if (std::exchange(rows[column], row + 1) != row + 1) ++entries;
    }
  return entries;
}

}  // namespace spdnn::sparse_int8
