#include "model/rewrites/fold_padding.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "model/graph/remove_unread.hpp"
#include "model/graph/uses.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The window with the pad's elements as its padding; empty if the pad changes other axes, or cuts elements off.
std::optional<Window> padded(Window window, const Pad& pad) {
  const std::size_t rank = pad.begin.size();
  if (rank != 3 && rank != 4) return std::nullopt;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto [least, most] = std::minmax(pad.begin[axis], pad.end[axis]);
    if (axis < 2 && (least != 0 || most != 0)) return std::nullopt;
    if (axis < 2) continue;
    const std::size_t place = axis + 2 - rank;  // among H and W
    if (least < 0) return std::nullopt;
    window.pad_begin[place] += static_cast<Index>(pad.begin[axis]);
    window.pad_end[place] += static_cast<Index>(pad.end[axis]);
  }
  return window;
}

/// A number that no element of the value is below, in any engine.
float least_of(const Model& model, const ValueUses& uses, ValueId value) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const auto maker = uses.maker[value];
  const auto* const activation = maker ? std::get_if<Activation>(&model.nodes[*maker].operation) : nullptr;
  if (activation == nullptr) return kLowest;
  if (activation->kind == Activation::Kind::clip) return activation->low;
  return activation->kind == Activation::Kind::relu ? 0 : kLowest;
}

/// The node's operation on the pad's input; empty if it would not give the same.
std::optional<Operation> without(const Model& model, const ValueUses& uses, const Node& node, const Node& before) {
  const auto& pad = std::get<Pad>(before.operation);
  const ValueId x = before.inputs[0];
  Operation operation = node.operation;
  std::optional<Window> window;
  if (auto* const convolution = std::get_if<Convolution>(&operation)) {
    window = padded(convolution->window, pad);
    if (!window || pad.value != 0) return std::nullopt;
    convolution->window = *window;
  } else if (auto* const pool = std::get_if<Pool>(&operation)) {
    window = padded(pool->window, pad);
    if (!window || pool->kind != Pool::Kind::max || pad.value > least_of(model, uses, x)) return std::nullopt;
    pool->window = *window;
  } else {
    return std::nullopt;
  }
  // A pool that rounds up may have fewer windows; in the padding alone it may have none.
  try {
    if (output_shape(operation, {model.values[x].shape}) != model.values[node.output].shape) return std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
  return operation;
}

}  // namespace

Index fold_padding(Model& model) {
  const ValueUses uses = uses_of(model);
  Index changed = 0;
  for (Node& node : model.nodes) {
    bool folded = false;
    while (!node.inputs.empty()) {
      const auto maker = uses.maker[node.inputs[0]];
      if (!maker || !std::holds_alternative<Pad>(model.nodes[*maker].operation)) break;
      auto operation = without(model, uses, node, model.nodes[*maker]);
      if (!operation) break;
      node.operation = *std::move(operation);
      node.inputs[0] = model.nodes[*maker].inputs[0];
      folded = true;
    }
    changed += folded ? 1 : 0;
  }
  if (changed > 0) remove_unread(model);
  return changed;
}

}  // namespace spdnn
