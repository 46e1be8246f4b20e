#include "engines/cuda/library_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

bool is_distinct(const CsrMatrix& matrix) {
  for (Index row = 0; row < matrix.rows; ++row) {
    const auto columns = matrix.row(row);
    if (std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) != columns.end()) return false;
  }
  return true;
}

}  // namespace

CsrMatrix with_distinct_columns(const CsrMatrix& matrix) {
  if (is_distinct(matrix)) return matrix;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  offsets.reserve(std::size_t{matrix.rows} + 1);
  indices.reserve(matrix.entries());
  values.reserve(matrix.entries());
  std::vector<std::pair<Index, float>> row;
  for (Index i = 0; i < matrix.rows; ++i) {
    row.clear();
    for (Offset k = matrix.offsets[i]; k < matrix.offsets[i + 1]; ++k)
      row.emplace_back(matrix.indices[k], matrix.entry_value(k));
    std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t begin = 0; begin < row.size();) {
      double sum = 0.0;
      std::size_t end = begin;
      for (; end < row.size() && row[end].first == row[begin].first; ++end) sum += row[end].second;
      indices.push_back(row[begin].first);
      values.push_back(static_cast<float>(sum));
      begin = end;
    }
    offsets.push_back(indices.size());
  }
  CsrMatrix result;
  result.rows = matrix.rows;
  result.cols = matrix.cols;
  result.offsets = Array<Offset>(std::move(offsets));
  result.indices = Array<Index>(std::move(indices));
  result.values = Array<float>(std::move(values));
  return result;
}

Plan with_distinct_inputs(const Plan& plan, std::string_view variant) {
  Plan result = plan;
  parallel_for(result.layers.size(), [&](std::size_t k) {
    Layer& layer = result.layers[k];
    if (layer.weights.entries() > kMaxIndex)
      throw UsageError(fmt::format("{}: layer {} has {} edges; expected at most {}", variant, k + 1,
                                   layer.weights.entries(), kMaxIndex));
    layer.weights = with_distinct_columns(layer.weights);
  });
  return result;
}

Plan by_input(Plan plan) {
  parallel_for(plan.layers.size(), [&](std::size_t k) { plan.layers[k].weights = transpose(plan.layers[k].weights); });
  return plan;
}

}  // namespace spdnn::cuda
