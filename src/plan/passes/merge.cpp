#include "plan/passes/merge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/threads/parallel_rows.hpp"
#include "plan/passes/row_sums.hpp"
#include "plan/passes/saturation.hpp"

namespace spdnn::planning {

namespace {

constexpr double kSlack = 1 + 0x1p-20;       ///< covers the fp64 arithmetic of the bounds
constexpr Offset kMostTerms = 1U << 20;      ///< keeps relative errors below 1/8
constexpr double kLargest = 0x1.fffffep127;  ///< largest fp32 number

/// g(a) + g(b), enlarged to cover the products of roundings.
double relative_error(Offset a, Offset b) {
  const auto bound = [](Offset roundings) {
    const double sum = static_cast<double>(roundings) * kUnit;
    return sum / (1 - sum);
  };
  const double first_order = bound(a) + bound(b);
  return first_order * (1 + 2 * first_order);
}

/// Bounds on the rows that enter a layer, over all images and neurons.
struct Bounds {
  double largest = 1;  ///< activation
  double error = 0;    ///< distance between the merged and the given order
};

/// Replaces `bounds` by those of the layer's outputs; returns the bound on the error of Z + b.
double pass_layer(const Layer& in_order, const CsrMatrix& merged, double cap, Bounds& bounds) {
  double sum_error = 0;
  Bounds next{0, 0};
  for (Index row = 0; row < in_order.outputs(); ++row) {
    const double bias = std::abs(in_order.bias[row]);  // the bias is -bias
    const double sum = row_sum(in_order.weights, row).sum * kSlack;
    const Offset terms = in_order.weights.degree(row);
    const double rounding = relative_error(terms + 1, merged.degree(row) + 2);
    const double common = sum * bounds.error + 5 * kUnit * bias + 4 * static_cast<double>(terms + 2) * kUnderflow;
    const double largest = sum * bounds.largest * (1 + rounding);
    sum_error = std::max(sum_error, (common + rounding * largest) * kSlack);
    next.error = std::max(next.error, (common + rounding * std::min(largest, cap + bias)) * kSlack);
    next.largest = std::max(next.largest, largest - bias + 2 * kUnit * (largest + bias));
  }
  bounds.largest = std::min(next.largest, cap);
  bounds.error = std::min(next.error, bounds.largest);
  return sum_error;
}

using Term = std::pair<Index, float>;

/// The terms, ascending, with equal ones added up; or as they are, where one of the sums would overflow fp32.
void merge_row(const std::vector<Term>& terms, std::vector<Term>& merged) {
  merged = terms;
  std::sort(merged.begin(), merged.end());
  std::size_t kept = 0;
  for (std::size_t begin = 0, end = 0; begin < merged.size(); begin = end) {
    while (end < merged.size() && merged[end] == merged[begin]) ++end;
    const double weight = static_cast<double>(end - begin) * static_cast<double>(merged[begin].second);
    if (weight > kLargest) {
      merged = terms;
      return;
    }
    merged[kept++] = {merged[begin].first, static_cast<float>(weight)};
  }
  merged.resize(kept);
}

/// Closes the gaps between rows: row i of `loose` has only lengths[i] entries at the front of its room.
CsrMatrix pack(const CsrMatrix& loose, const std::vector<Offset>& lengths) {
  CsrMatrix packed{.rows = loose.rows, .cols = loose.cols};
  std::vector<Offset> offsets(std::size_t{loose.rows} + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), offsets.begin() + 1);
  const Offset entries = offsets.back();
  packed.offsets = std::move(offsets);
  const auto indices = allocate<Index>(entries);
  const auto values = allocate<float>(entries);
  for_row_ranges(loose, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const Offset from = loose.offsets[row];
      const Offset to = packed.offsets[row];
      std::copy_n(loose.indices.data() + from, lengths[row], indices.get() + to);
      std::copy_n(loose.values.data() + from, lengths[row], values.get() + to);
    }
  });
  packed.indices = Array<Index>(indices, entries);
  packed.values = Array<float>(values, entries);
  if (entries > 0 &&
      std::all_of(packed.values.begin(), packed.values.end(), [&](float value) { return value == packed.values[0]; })) {
    packed.value = packed.values[0];
    packed.values = {};
  }
  return packed;
}

}  // namespace

std::string reason_against_merge(const Plan& plan) {
  if (!plan.passes.twins) return "it adds up terms that twins made equal, and twins was not requested";
  if (plan.cap && !certifiable_cap(*plan.cap)) return "the cap is no fp32 number";
  for (const Layer& layer : plan.layers) {
    if (layer.outputs() > 0 && layer.bias.max() > 0) return "a bias is positive, so errors of sums are not bounded";
    const CsrMatrix& weights = layer.weights;
    if (weights.uniform() ? weights.value < 0
                          : std::any_of(weights.values.begin(), weights.values.end(), [](float w) { return w < 0; }))
      return "a weight is negative, so errors of sums are not bounded";
    for (Index row = 0; row < weights.rows; ++row)
      if (weights.degree(row) > kMostTerms) return "a neuron has too many inputs for a bound on its rounding errors";
  }
  return {};
}

CsrMatrix merge_terms(const CsrMatrix& weights) {
  CsrMatrix loose = weights;
  const auto indices = allocate<Index>(weights.entries());
  const auto values = allocate<float>(weights.entries());
  std::vector<Offset> lengths(weights.rows);
  for_row_ranges(weights, [&](Index begin, Index end) {
    std::vector<Term> terms;
    std::vector<Term> merged;
    for (Index row = begin; row < end; ++row) {
      terms.clear();
      for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k)
        terms.emplace_back(weights.indices[k], weights.entry_value(k));
      merge_row(terms, merged);
      lengths[row] = merged.size();
      for (std::size_t i = 0; i < lengths[row]; ++i) {
        indices[static_cast<std::ptrdiff_t>(weights.offsets[row] + i)] = merged[i].first;
        values[static_cast<std::ptrdiff_t>(weights.offsets[row] + i)] = merged[i].second;
      }
    }
  });
  loose.indices = Array<Index>(indices, weights.entries());
  loose.values = Array<float>(values, weights.entries());
  return pack(loose, lengths);
}

Plan merged(Plan plan) {
  plan.passes.merge = false;
  Plan result = plan;
  result.passes.merge = true;
  result.fallback.emplace();
  Bounds bounds;
  for (std::size_t k = 0; k < plan.layers.size(); ++k) {
    result.layers[k].weights = merge_terms(plan.layers[k].weights);
    const double cap = plan.cap.value_or(kLargest);
    result.fallback->error_bounds.push_back(pass_layer(plan.layers[k], result.layers[k].weights, cap, bounds));
  }
  result.fallback->in_order = std::make_shared<const Plan>(std::move(plan));
  return result;
}

}  // namespace spdnn::planning
