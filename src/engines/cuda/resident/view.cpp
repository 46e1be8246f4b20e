#include "engines/cuda/resident/view.hpp"

#include <algorithm>

namespace spdnn::cuda::resident {

namespace {

/// Slots beyond those of the layout that reads of four rows at a time may touch.
constexpr Index kSpareSlots = 3;

/// Bytes of the tile's input bits: one bit per image for every input and the row of zeros, in whole bytes.
std::size_t bit_tile_bytes(const Plan& plan, const TileShape& shape) {
  return (plan.inputs() + std::size_t{1}) * std::max(shape.images / 8, 1U);
}

}  // namespace

Index most_slots(const TileShape& shape, std::size_t shared_bytes) {
  const std::size_t slots = shared_bytes / shape.slot_bytes();
  return slots <= kSpareSlots ? 0 : static_cast<Index>(std::min<std::size_t>(slots - kSpareSlots, kNoReplica - 1));
}

Index slots_for(const Plan& plan, const TileShape& shape, std::size_t shared_bytes, bool from_bits) {
  const Index needed = needed_slots(plan, shape, from_bits);
  if (shape.bank_groups() == 1) return needed;
  return std::min(most_slots(shape, shared_bytes), 2 * (needed + shape.bank_groups()));
}

bool fits_tile(const Plan& plan, const TileShape& shape, std::size_t shared_bytes, bool from_bits) {
  if (needed_slots(plan, shape, from_bits) > most_slots(shape, shared_bytes)) return false;
  if (from_bits && (bit_tile_bytes(plan, shape) > shared_bytes || !takes_bits(plan))) return false;
  return std::all_of(plan.layers.begin(), plan.layers.end(),
                     [&](const Layer& layer) { return layer.outputs() <= shape.capacity(); });
}

std::size_t tile_bytes(const Plan& plan, const ResidentLayout& layout) {
  const std::size_t rows = std::size_t{layout.slots + kSpareSlots} * layout.shape.slot_bytes();
  return layout.from_bits ? std::max(rows, bit_tile_bytes(plan, layout.shape)) : rows;
}

std::vector<LayerInfo> layer_infos(const Plan& plan) {
  std::vector<LayerInfo> infos;
  for (Index k = 0; k < plan.depth(); ++k) {
    const Layer& layer = plan.layers[k];
    infos.push_back({.inputs = layer.inputs(),
                     .outputs = layer.outputs(),
                     .weight = layer.weights.value,
                     .bias = static_cast<float>(layer.bias.uniform),
                     .bound = error_bound_of(plan, k),
                     .bias_always = adds_bias_always(plan, layer)});
  }
  return infos;
}

LayoutView view_of(const Plan& plan, const ResidentLayout& layout) {
  return {.chunk_stream = layout.chunk_stream.data(),
          .starts = layout.starts.data(),
          .rounds = layout.rounds.data(),
          .splits = layout.splits.data(),
          .targets = layout.targets.data(),
          .biases = layout.biases.empty() ? nullptr : layout.biases.data(),
          .replicas = layout.replicas.data(),
          .layers = nullptr,
          .depth = plan.depth(),
          .width = layout.width,
          .zero_slot = layout.zero_slot,
          .slots = layout.slots,
          .activation = activation_of(plan),
          .dead_from = plan.passes.dead ? plan.certificates.dead_from : kPassOff,
          .saturated_from = plan.passes.saturated && plan.cap ? plan.certificates.saturated_from : kPassOff,
          .merge = plan.passes.merge};
}

std::size_t spare_chunk_words(const ResidentLayout& layout) { return 16 * std::size_t{layout.chunk_units()}; }

Index row_stride(const Plan& plan) { return (plan.max_outputs() + 3) / 4 * 4; }

}  // namespace spdnn::cuda::resident
