#include "prune/two_of_four.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "model/graph/node_text.hpp"
#include "model/rewrites/channels.hpp"
#include "prune/channel_order.hpp"
#include "prune/quantise.hpp"
#include "prune/samples.hpp"
#include "prune/select.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kRowsShown = 3;
constexpr double kMostRest = 0.25;  ///< of a node's weights: with more, the groups hold too little of it

Offset rest_of_row(const TypedMatrix& matrix, Index row) {
  return matrix.offsets[std::size_t{row} + 1] - matrix.offsets[row];
}

/// The node, and its rows of which most does not fit into groups.
std::string worst_rows(const Model& model, std::size_t n, const TypedMatrix& matrix) {
  std::vector<Index> rows(matrix.rows);
  std::iota(rows.begin(), rows.end(), Index{0});
  std::stable_sort(rows.begin(), rows.end(),
                   [&](Index a, Index b) { return rest_of_row(matrix, a) > rest_of_row(matrix, b); });
  std::vector<std::string> worst;
  for (std::size_t i = 0; i < std::min(kRowsShown, rows.size()) && rest_of_row(matrix, rows[i]) > 0; ++i)
    worst.push_back(fmt::format("row {} with {}", rows[i] + 1, rest_of_row(matrix, rows[i])));
  return fmt::format("{}: {}", node_text(model, n), fmt::join(worst, ", "));
}

/// The share of a node's weights that does not fit into groups, and where that is; the worst of several.
struct Misfit {
  double share = 0;
  std::string text{};

  void see(double other, const Model& model, std::size_t n, const TypedMatrix& matrix) {
    if (other <= share) return;
    share = other;
    text = worst_rows(model, n, matrix);
  }
};

TypedMatrix grouped(const CsrMatrix& weights, Index taps) {
  TypedMatrix made = typed_matrix(weights, Pattern::two_of_four, DataType::f32, taps);
  if (made.indices.empty()) return made;
  return typed_matrix(weights, Pattern::two_of_four, DataType::f32, taps, channel_order(weights, taps));
}

}  // namespace

TwoOfFourForm store_two_of_four(Model& model) {
  require_plain_weights(model, "stored as 2:4");
  TwoOfFourForm form;
  Misfit stored;
  Misfit crowded;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    Operation& operation = model.nodes[n].operation;
    const Weights* const weights = weights_or_null(operation);
    if (weights == nullptr) continue;
    if (weights->cols() < kFewWeights) {
      ++form.few;
      continue;
    }
    const TypedMatrix matrix = grouped(*weights, layer_extents(operation).taps);
    const Offset rest = matrix.indices.size();
    const Offset all = weights->csr().entries();
    const double share = rest == 0 ? 0 : static_cast<double>(rest) / static_cast<double>(all);
    if (share > kMostRest) {
      ++form.crowded;
      crowded.see(share, model, n, matrix);
      continue;
    }
    stored.see(share, model, n, matrix);
    ++form.nodes;
    form.ordered += matrix.order.empty() ? 0 : 1;
    form.weights += all;
    form.rest += rest;
    form.bytes_before += weights->bytes();
    form.bytes_after += matrix.bytes();
    *sums_of(operation).weights = Weights(matrix);
  }
  form.worst = stored.text;
  form.most_crowded = crowded.text;
  if (form.nodes == 0 && form.crowded > 0)
    throw DataError(fmt::format(
        "more than a quarter of each node's weights are beyond 2 of four input channels, in the best order of these "
        "that was found, most of {}; spdnn prune --pattern 2:4 makes them fit",
        form.most_crowded));
  return form;
}

}  // namespace spdnn
