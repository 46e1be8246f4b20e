#include "engines/cuda/layers/library_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

/// A network's layers as they are read; no row repeats an input, so shapes do not change.
class DistinctLayers final : public LayerStream {
 public:
  explicit DistinctLayers(std::shared_ptr<const LayerStream> given)
      : LayerStream(given->shapes()), given_(std::move(given)) {}
  Layer read(Index k) const override {
    Layer layer = given_->read(k);
    layer.weights = with_distinct_columns(layer.weights);
    return layer;
  }
  std::uint64_t bytes_read() const override { return given_->bytes_read(); }

 private:
  std::shared_ptr<const LayerStream> given_;
};

}  // namespace

CsrMatrix with_distinct_columns(const CsrMatrix& matrix) {
  if (matrix.ascends()) return matrix;
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
  return make_csr(matrix.rows, matrix.cols, std::move(offsets), std::move(indices), std::move(values));
}

std::string reason_against_library(const Plan& plan, std::string_view variant) {
  for (Index k = 0; k < plan.depth(); ++k)
    if (const Offset edges = plan.shape(k).edges; edges > kMaxIndex)
      return fmt::format("{}: layer {} has {} edges; expected at most {}", variant, k + 1, edges, kMaxIndex);
  return {};
}

Plan with_distinct_inputs(const Plan& plan) {
  Plan result = plan;
  if (plan.streamed) {
    StreamedLayers streamed = *plan.streamed;
    streamed.stream = std::make_shared<const DistinctLayers>(plan.streamed->stream);
    result.streamed = std::make_shared<const StreamedLayers>(std::move(streamed));
  }
  parallel_for(result.layers.size(), [&](std::size_t k) {
    Layer& layer = result.layers[k];
    layer.weights = with_distinct_columns(layer.weights);
  });
  return result;
}

Plan by_input(Plan plan) {
  parallel_for(plan.layers.size(), [&](std::size_t k) { plan.layers[k].weights = transpose(plan.layers[k].weights); });
  return plan;
}

bool lift_positive_biases(Layer& layer) {
  if (layer.bias.max() <= 0.0) return false;
  const CsrMatrix& weights = layer.weights;
  std::vector<Offset> offsets(weights.offsets.begin(), weights.offsets.end());
  std::vector<Index> indices(weights.indices.begin(), weights.indices.end());
  std::vector<float> values(weights.values.begin(), weights.values.end());
  if (weights.uniform()) values.assign(weights.entries(), weights.value);
  std::vector<double> biases(weights.cols);
  for (Index output = 0; output < weights.cols; ++output) {
    biases[output] = std::min(layer.bias[output], 0.0);
    if (layer.bias[output] <= 0.0) continue;
    indices.push_back(output);
    values.push_back(static_cast<float>(layer.bias[output]));
  }
  offsets.push_back(indices.size());
  ++layer.weights.rows;
  layer.weights.offsets = Array<Offset>(std::move(offsets));
  layer.weights.indices = Array<Index>(std::move(indices));
  layer.weights.values = Array<float>(std::move(values));
  layer.bias.values = Array<double>(std::move(biases));
  return true;
}

}  // namespace spdnn
