#include "plan/passes/renaming.hpp"

#include <algorithm>
#include <numeric>

#include "core/threads/parallel.hpp"
#include "core/threads/parallel_rows.hpp"

namespace spdnn::planning {

namespace {

bool reads_zeros(const CsrMatrix& matrix, std::span<const Index> rows, const Array<Index>& map) {
  if (std::find(map.begin(), map.end(), kAlwaysZero) == map.end()) return false;
  return std::any_of(rows.begin(), rows.end(), [&](Index row) {
    const auto inputs = matrix.row(row);
    return std::any_of(inputs.begin(), inputs.end(), [&](Index input) { return map[input] == kAlwaysZero; });
  });
}

Array<Offset> selected_offsets(const CsrMatrix& matrix, std::span<const Index> rows, const Array<Index>& map) {
  const bool drop = !map.empty() && reads_zeros(matrix, rows, map);
  std::vector<Offset> offsets(rows.size() + 1, 0);
  parallel_ranges(rows.size(), useful_pieces(matrix.entries()), [&](auto, auto begin, auto end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto inputs = matrix.row(rows[i]);
      offsets[i + 1] = drop ? static_cast<Offset>(std::count_if(inputs.begin(), inputs.end(),
                                                                [&](Index input) { return map[input] != kAlwaysZero; }))
                            : inputs.size();
    }
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

/// Fills one selected row. `values` is null for a uniform matrix.
void copy_row(const CsrMatrix& matrix, Index row, const Array<Index>& map, Index* indices, float* values) {
  for (Offset k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k) {
    const Index input = map.empty() ? matrix.indices[k] : map[matrix.indices[k]];
    if (input == kAlwaysZero) continue;
    *indices++ = input;
    if (values != nullptr) *values++ = matrix.values[k];
  }
}

CsrMatrix select_matrix(const CsrMatrix& matrix, std::span<const Index> rows, const Storage& inputs) {
  if (rows.size() == matrix.rows && inputs.identity()) return matrix;
  CsrMatrix result{.rows = static_cast<Index>(rows.size()), .cols = inputs.count, .value = matrix.value};
  result.offsets = selected_offsets(matrix, rows, inputs.map);
  const Offset entries = result.offsets.back();
  const auto indices = allocate<Index>(entries);
  const auto values = matrix.uniform() ? nullptr : allocate<float>(entries);
  result.indices = Array<Index>(indices, entries);
  for_row_ranges(result, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Offset to = result.offsets[i];
      copy_row(matrix, rows[i], inputs.map, indices.get() + to, values ? values.get() + to : nullptr);
    }
  });
  if (values) result.values = Array<float>(values, entries);
  return result;
}

}  // namespace

Layer select_rows(const Layer& layer, std::span<const Index> rows, const Storage& inputs) {
  Layer result{.weights = select_matrix(layer.weights, rows, inputs), .bias = layer.bias};
  if (!layer.bias.values.empty() && rows.size() != layer.outputs()) {
    std::vector<double> values(rows.size());
    std::transform(rows.begin(), rows.end(), values.begin(), [&](Index row) { return layer.bias.values[row]; });
    result.bias.values = std::move(values);
  }
  return result;
}

}  // namespace spdnn::planning
