#include "plan/magnitudes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <span>

#include "core/parallel_rows.hpp"
#include "plan/passes/row_sums.hpp"

namespace spdnn::planning {

namespace {

constexpr double kUnit = 0x1p-24;  ///< unit roundoff of fp32

/// Compares bit patterns, which orders finite absolute values alike and vectorises.
double largest_of(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
  return std::bit_cast<float>(largest);
}

void add_biases(const Layer& layer, LayerBounds& bounds) {
  bounds.least_bias = layer.bias.min();
  bounds.most_bias = layer.bias.max();
}

LayerBounds all_in_one(const Layer& layer) {
  const CsrMatrix& weights = layer.weights;
  LayerBounds bounds;
  bounds.terms = static_cast<double>(weights.entries());
  bounds.absolute = bounds.terms * (weights.uniform() ? std::abs(static_cast<double>(weights.value))
                                                      : largest_of(weights.values.span()));
  add_biases(layer, bounds);
  return bounds;
}

/// Whether an image may name a neuron twice: entries that do not ascend are not examined any further.
bool has_repeats(const CsrMatrix& rows) {
  for (Index image = 0; image < rows.rows; ++image) {
    const auto neurons = rows.row(image);
    if (std::adjacent_find(neurons.begin(), neurons.end(), std::greater_equal<>()) != neurons.end()) return true;
  }
  return false;
}

}  // namespace

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

double largest_value(const ImageSet& images, RowBounds bounds) {
  if (images.is_bits()) return 1;
  const CsrMatrix& rows = images.sparse();
  double largest = largest_of(rows.values.span());
  if (rows.uniform() && rows.entries() > 0) largest = std::abs(static_cast<double>(rows.value));
  if (bounds == RowBounds::exact && !has_repeats(rows)) return largest;
  Offset most = 0;
  for (Index image = 0; image < rows.rows; ++image) most = std::max(most, rows.degree(image));
  return largest * static_cast<double>(most);
}

}  // namespace spdnn::planning
