#include "plan/magnitudes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>

#include "core/threads/parallel_rows.hpp"
#include "plan/passes/row_sums.hpp"

namespace spdnn::planning {

namespace {

void add_biases(const Layer& layer, LayerBounds& bounds) {
  bounds.least_bias = layer.bias.min();
  bounds.most_bias = layer.bias.max();
}

LayerBounds all_in_one(const Layer& layer) {
  const CsrMatrix& weights = layer.weights;
  LayerBounds bounds{.terms = static_cast<double>(weights.entries())};
  bounds.absolute = bounds.terms * (weights.uniform() ? std::abs(static_cast<double>(weights.value))
                                                      : largest_of(weights.values.span()));
  add_biases(layer, bounds);
  return bounds;
}

}  // namespace

/// Compares bit patterns, which orders finite absolute values alike and vectorises.
double largest_of(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
  return std::bit_cast<float>(largest);
}

LayerBounds bounds_of(const Layer& layer) {
  const CsrMatrix& weights = layer.weights;
  LayerBounds bounds;
  std::mutex mutex;
  for_row_ranges(weights, [&](Index begin, Index end) {
    LayerBounds mine;
    for (Index row = begin; row < end; ++row) {
      mine.absolute = std::max(mine.absolute, row_sum(weights, row).absolute);
      mine.terms = std::max(mine.terms, static_cast<double>(weights.degree(row)));
    }
    const std::lock_guard lock(mutex);
    bounds.absolute = std::max(bounds.absolute, mine.absolute);
    bounds.terms = std::max(bounds.terms, mine.terms);
  });
  add_biases(layer, bounds);
  return bounds;
}

Magnitudes magnitudes(const Plan& plan, double largest_value, RowBounds bounds) {
  std::vector<LayerBounds> widest(plan.layers.size());
  for_layers(plan.layers.size(), [&](std::size_t k) {
    widest[k] = bounds == RowBounds::rough ? all_in_one(plan.layers[k]) : bounds_of(plan.layers[k]);
  });
  if (plan.streamed) widest = plan.streamed->bounds;
  const double cap = plan.cap.value_or(std::numeric_limits<double>::infinity()) * (1 + kUnit);
  Magnitudes result;
  double largest = largest_value;
  for (const LayerBounds& layer : widest) {
    const double products = std::max(1.0, largest) * layer.absolute * std::exp((layer.terms + 2) * kUnit);
    const double bias = std::max(std::abs(layer.least_bias), std::abs(layer.most_bias));
    result.inputs.push_back(largest);
    result.sums.push_back((products + bias) * (1 + 2 * kUnit));
    largest = std::min(cap, result.sums.back());
  }
  return result;
}

double largest_value(const ImageFacts& images, RowBounds bounds) {
  if (images.bits || (bounds == RowBounds::exact && !images.repeats)) return images.largest;
  return images.largest * static_cast<double>(images.most_entries);
}

}  // namespace spdnn::planning
