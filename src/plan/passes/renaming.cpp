#include "plan/passes/renaming.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"

namespace spdnn::planning {

namespace {

/// Entries (4 B each, more with values) below which waking another thread costs more than it saves.
constexpr Offset kEntriesPerPiece = 1U << 16;

/// First row at or behind the given share of the work, a row weighing as one entry more than it has.
Index row_at(const CsrMatrix& matrix, Offset weight) {
  Index low = 0;
  Index high = matrix.rows;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (matrix.offsets[middle] + middle < weight)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

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

/// Fills one selected row; `values` is null for a uniform matrix.
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
  CsrMatrix result;
  result.rows = static_cast<Index>(rows.size());
  result.cols = inputs.count;
  result.value = matrix.value;
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

std::size_t useful_pieces(Offset entries) {
  if (omp_in_parallel() != 0) return 1;
  return std::clamp<std::size_t>(entries / kEntriesPerPiece, 1, static_cast<std::size_t>(host_threads()));
}

bool enough_for_all_threads(std::size_t layers) { return layers >= 4 * static_cast<std::size_t>(host_threads()); }

void for_layers(std::size_t layers, const std::function<void(std::size_t)>& work) {
  if (enough_for_all_threads(layers)) return parallel_for(layers, work);
  for (std::size_t k = 0; k < layers; ++k) work(k);
}

void for_row_ranges(const CsrMatrix& matrix, const std::function<void(Index begin, Index end)>& work) {
  const Offset weight = matrix.entries() + matrix.rows;
  const std::size_t threads = useful_pieces(weight);
  const std::size_t pieces = threads == 1 ? 1 : 4 * threads;
  parallel_for(pieces, [&](std::size_t piece) {
    const Index begin = row_at(matrix, weight / pieces * piece);
    const Index end = piece + 1 == pieces ? matrix.rows : row_at(matrix, weight / pieces * (piece + 1));
    if (begin < end) work(begin, end);
  });
}

RowSum row_sum(const CsrMatrix& weights, Index row) {
  if (weights.uniform()) {
    const double sum = static_cast<double>(weights.degree(row)) * weights.value;
    return {sum, std::abs(sum)};
  }
  RowSum result;
  for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k) {
    result.sum += weights.values[k];
    result.absolute += std::abs(weights.values[k]);
  }
  return result;
}

Layer select_rows(const Layer& layer, std::span<const Index> rows, const Storage& inputs) {
  Layer result;
  result.weights = select_matrix(layer.weights, rows, inputs);
  result.bias = layer.bias;
  if (!layer.bias.values.empty() && rows.size() != layer.outputs()) {
    std::vector<double> values(rows.size());
    std::transform(rows.begin(), rows.end(), values.begin(), [&](Index row) { return layer.bias.values[row]; });
    result.bias.values = std::move(values);
  }
  return result;
}

}  // namespace spdnn::planning
