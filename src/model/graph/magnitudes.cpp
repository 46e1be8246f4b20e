#include "model/graph/magnitudes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/threads/parallel_rows.hpp"

namespace spdnn {

namespace {

double sum_of_absolutes(std::span<const float> values) {
  constexpr std::size_t kSums = 8;  // side by side, as each addition takes long
  std::array<double, kSums> sums{};
  std::size_t k = 0;
  for (; k + kSums <= values.size(); k += kSums)
    for (std::size_t i = 0; i < kSums; ++i) sums[i] += std::abs(double{values[k + i]});
  for (; k < values.size(); ++k) sums[0] += std::abs(double{values[k]});
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::vector<double> row_sums(const CsrMatrix& weights) {
  std::vector<double> sums(weights.rows);
  for_row_ranges(weights, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row)
      sums[row] = weights.uniform()
                      ? std::abs(double{weights.value}) * static_cast<double>(weights.degree(row))
                      : sum_of_absolutes(weights.values.span().subspan(weights.offsets[row], weights.degree(row)));
  });
  return sums;
}

}  // namespace

Magnitudes::Magnitudes(const Model& model) : model_(model), row_sums_(model.nodes.size()) {
  for (std::size_t node = 0; node < row_sums_.size(); ++node)
    if (const CsrMatrix* const weights = matrix_or_null(model.nodes[node].operation))
      row_sums_[node] = row_sums(*weights);
}

Magnitude Magnitudes::of(Index node, std::span<const double> inputs) const {
  const Node& one = model_.nodes[node];
  Operands operands{.largest = inputs, .row_sums = row_sums_[node], .values = {}};
  for (const ValueId id : one.inputs) operands.values.push_back(&model_.values[id]);
  return std::visit([&](const auto& operation) { return rules::magnitude(operation, operands); }, one.operation);
}

double magnitude_of(const Tensor& constant) {
  double largest = 0;
  for (const float value : constant.values) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

}  // namespace spdnn
