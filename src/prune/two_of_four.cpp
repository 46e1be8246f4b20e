#include "prune/two_of_four.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/graph/node_text.hpp"
#include "model/rewrites/channels.hpp"
#include "prune/quantise.hpp"
#include "prune/samples.hpp"
#include "prune/select.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr Index kInputsOfGroup = 4;
constexpr int kMostOfGroup = 2;
constexpr std::size_t kRowsShown = 3;

/// A row and how many of its groups have more than two non-zeros.
struct CrowdedRow {
  Index row;
  Offset groups;
};

/// The rows that do not fit, the worst first.
std::vector<CrowdedRow> crowded_rows(const CsrMatrix& weights, Index taps) {
  const Offset groups = (Offset{weights.cols} / taps + kInputsOfGroup - 1) / kInputsOfGroup;
  std::vector<CrowdedRow> crowded;
  for (Index row = 0; row < weights.rows; ++row) {
    std::vector<int> counts(groups * taps);
    for (const Index column : weights.row(row)) ++counts[column % taps * groups + column / taps / kInputsOfGroup];
    const Offset found = std::count_if(counts.begin(), counts.end(), [](int count) { return count > kMostOfGroup; });
    if (found > 0) crowded.push_back({row, found});
  }
  std::stable_sort(crowded.begin(), crowded.end(),
                   [](const CrowdedRow& a, const CrowdedRow& b) { return a.groups > b.groups; });
  return crowded;
}

void require_room(const Model& model, std::size_t n, const CsrMatrix& weights, Index taps) {
  const std::vector<CrowdedRow> crowded = crowded_rows(weights, taps);
  if (crowded.empty()) return;
  std::vector<std::string> worst;
  for (std::size_t i = 0; i < std::min(kRowsShown, crowded.size()); ++i)
    worst.push_back(fmt::format("row {} in {} groups", crowded[i].row + 1, crowded[i].groups));
  throw DataError(
      fmt::format("{}: {} of {} rows have more than 2 non-zeros in four neighbouring input channels, the worst: {}; "
                  "spdnn prune --pattern 2:4 makes them fit",
                  node_text(model, n), crowded.size(), weights.rows, fmt::join(worst, ", ")));
}

}  // namespace

TwoOfFourForm store_two_of_four(Model& model) {
  require_plain_weights(model, "stored as 2:4");
  TwoOfFourForm form;
  std::vector<std::pair<std::size_t, Weights>> stored;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Operation& operation = model.nodes[n].operation;
    const Weights* const weights = weights_or_null(operation);
    if (weights == nullptr) continue;
    if (weights->cols() < kFewWeights) {
      ++form.left;
      continue;
    }
    const Index taps = layer_extents(operation).taps;
    require_room(model, n, *weights, taps);
    stored.emplace_back(n, Weights(typed_matrix(*weights, Pattern::two_of_four, DataType::f32, taps)));
    form.bytes_before += weights->bytes();
    form.bytes_after += stored.back().second.bytes();
    ++form.nodes;
  }
  for (auto& [n, weights] : stored) *sums_of(model.nodes[n].operation).weights = std::move(weights);
  return form;
}

}  // namespace spdnn
