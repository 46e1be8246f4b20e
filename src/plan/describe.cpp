#include "plan/describe.hpp"

#include <algorithm>
#include <tuple>

#include "core/threads/parallel.hpp"
#include "plan/passes/merge.hpp"

namespace spdnn {

namespace {

std::size_t count_distinct(const CsrMatrix& weights) {
  if (weights.uniform()) return weights.entries() > 0 ? 1 : 0;
  std::vector<float> values(weights.values.begin(), weights.values.end());
  std::sort(values.begin(), values.end());
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

void describe_given(const CsrMatrix& weights, LayerDescription& result) {
  result.inputs = weights.cols;
  result.outputs = weights.rows;
  result.edges = weights.entries();
  result.distinct_weights = count_distinct(weights);
  if (weights.rows == 0) return;
  result.min_degree = weights.degree(0);
  for (Index row = 0; row < weights.rows; ++row) {
    result.min_degree = std::min(result.min_degree, weights.degree(row));
    result.max_degree = std::max(result.max_degree, weights.degree(row));
  }
  result.mean_degree = static_cast<double>(result.edges) / weights.rows;
  if (weights.cols > 0) result.density = result.mean_degree / weights.cols;
}

void describe_stored(const CsrMatrix& weights, const Array<Index>& expansion, LayerDescription& result) {
  result.stored_outputs = weights.rows;
  result.stored_edges = weights.entries();
  if (weights.rows > 0)
    result.distinct_terms = static_cast<double>(planning::merge_terms(weights).entries()) / weights.rows;
  if (expansion.empty()) return;
  const auto count = [&](Index value) {
    return static_cast<Index>(std::count(expansion.begin(), expansion.end(), value));
  };
  result.always_zero = count(kAlwaysZero);
  result.unread = count(kNotComputed);
  result.twins = static_cast<Index>(expansion.size()) - result.always_zero - result.unread - weights.rows;
}

bool same_kind(const LayerDescription& a, const LayerDescription& b) {
  const auto key = [](const LayerDescription& d) {
    return std::tie(d.inputs, d.outputs, d.edges, d.min_degree, d.max_degree, d.distinct_weights, d.stored_outputs,
                    d.stored_edges, d.twins, d.always_zero, d.unread);
  };
  return key(a) == key(b);
}

}  // namespace

std::vector<LayerDescription> describe(const Network& network, const Plan& plan) {
  std::vector<LayerDescription> result(network.layers.size());
  parallel_for(result.size(), [&](std::size_t k) {
    describe_given(network.layers[k].weights, result[k]);
    describe_stored(plan.layers[k].weights, plan.expansion[k], result[k]);
  });
  return result;
}

std::vector<LayerKind> kinds_of(const std::vector<LayerDescription>& layers) {
  std::vector<LayerKind> kinds;
  for (Index k = 0; k < layers.size(); ++k) {
    auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& x) { return same_kind(x.layer, layers[k]); });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {layers[k], k + 1});
    ++kind->count;
    kind->distinct_terms += layers[k].distinct_terms;
  }
  return kinds;
}

std::string certificate_text(Index from, Index depth) {
  return from == depth ? "never" : "from the rows entering layer " + std::to_string(from + 1) + " on";
}

}  // namespace spdnn
