#include "plan/passes/saturation.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "core/threads/parallel_rows.hpp"
#include "plan/passes/row_sums.hpp"

namespace spdnn::planning {

namespace {

bool stays_at_cap(const Layer& layer, Index row, BiasRule rule, double cap) {
  const double steps = static_cast<double>(layer.weights.degree(row)) + 1;
  const double roundings = steps * kUnit;
  if (roundings >= 0.5) return false;
  const RowSum weights = row_sum(layer.weights, row);
  const double reach = cap * weights.absolute;
  if (reach > std::numeric_limits<float>::max() / 2) return false;  // partial sums might overflow
  const double least = cap * weights.sum - roundings / (1 - roundings) * reach - 2 * steps * kUnderflow;
  const double bias = layer.bias[row];
  if (rule == BiasRule::non_zeros && !(least > 0)) return false;
  return least + bias - 2 * kUnit * std::abs(bias) >= cap;
}

}  // namespace

bool zeros_stay(const Layer& layer, BiasRule rule) {
  return rule == BiasRule::non_zeros || layer.outputs() == 0 || layer.bias.max() <= 0;
}

bool caps_stay(const Layer& layer, BiasRule rule, double cap) {
  std::atomic<bool> stays = layer.outputs() > 0;
  for_row_ranges(layer.weights, [&](Index begin, Index end) {
    for (Index row = begin; row < end && stays.load(std::memory_order_relaxed); ++row)
      if (!stays_at_cap(layer, row, rule, cap)) stays.store(false, std::memory_order_relaxed);
  });
  return stays;
}

Index from_which_on(const std::vector<std::uint8_t>& has_property) {
  auto from = static_cast<Index>(has_property.size());
  while (from > 0 && has_property[from - 1] != 0) --from;
  return from;
}

Index dead_from(const std::vector<Layer>& layers, BiasRule rule) {
  auto from = static_cast<Index>(layers.size());
  while (from > 0 && zeros_stay(layers[from - 1], rule)) --from;
  return from;
}

bool certifiable_cap(double cap) {
  return std::isnormal(static_cast<float>(cap)) && static_cast<double>(static_cast<float>(cap)) == cap;
}

Index saturated_from(const std::vector<Layer>& layers, BiasRule rule, double cap) {
  std::vector<std::uint8_t> stays(layers.size());
  for_layers(layers.size(), [&](std::size_t k) { stays[k] = caps_stay(layers[k], rule, cap) ? 1 : 0; });
  return from_which_on(stays);
}

}  // namespace spdnn::planning
