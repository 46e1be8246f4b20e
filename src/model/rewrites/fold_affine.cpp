#include "model/rewrites/fold_affine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/graph/quantised.hpp"
#include "model/graph/remove_unread.hpp"
#include "model/graph/uses.hpp"
#include "model/rewrites/channels.hpp"

namespace spdnn {

namespace {

/// The function of one channel: (x - mean) factor + shift.
struct Affine {
  double mean = 0;
  double factor = 1;
  double shift = 0;
};

/// The factor of a row of weights, and its new bias.
struct Row {
  double factor = 1;
  double bias = 0;
};

/// The constant's number for each channel of a shape; empty if it is not constant, or varies along other axes.
std::vector<float> by_channel(const Value& value, const Shape& shape) {
  if (!value.constant || shape.size() < 2 || value.constant->shape.size() > shape.size()) return {};
  const Shape& own = value.constant->shape;
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    const bool of_channels = axis + shape.size() - own.size() == 1 && own[axis] == shape[1];
    if (own[axis] != 1 && !of_channels) return {};
  }
  return {value.constant->values.begin(), value.constant->values.end()};
}

/// Of the kinds that is_affine() names.
Affine affine_of(Elementwise::Kind kind, double number, bool first) {
  switch (kind) {
    case Elementwise::Kind::add:
      return {.shift = number};
    case Elementwise::Kind::subtract:
      return {.factor = first ? -1.0 : 1.0, .shift = first ? number : -number};
    case Elementwise::Kind::multiply:
      return {.factor = number};
    default:
      return {.factor = 1 / number};
  }
}

/// Whether the function of the value is affine if the other input is a constant, which is the first one or the second.
bool is_affine(Elementwise::Kind kind, bool first) {
  using Kind = Elementwise::Kind;
  return kind == Kind::add || kind == Kind::subtract || kind == Kind::multiply || (kind == Kind::divide && !first);
}

/// The node's affine map by channel; empty if it is not affine.
std::vector<Affine> affine_of(const Model& model, const Node& node, ValueId x) {
  const Shape& shape = model.values[x].shape;
  std::vector<Affine> channels;
  if (const auto* const norm = std::get_if<BatchNorm>(&node.operation)) {
    for (std::size_t k = 0; k < norm->scale.size(); ++k)
      channels.push_back({norm->mean[k], norm->scale[k] / std::sqrt(double{norm->variance[k]} + double{norm->epsilon}),
                          norm->shift[k]});
  } else if (const auto* const both = std::get_if<Elementwise>(&node.operation)) {
    const bool first = node.inputs[1] == x;  // the constant is the first input
    if (model.values[node.output].shape != shape || !is_affine(both->kind, first)) return {};
    const std::vector<float> numbers = by_channel(model.values[node.inputs[first ? 0 : 1]], shape);
    for (const float number : numbers) channels.push_back(affine_of(both->kind, number, first));
  }
  return channels;
}

/// Whether each channel of the node's output holds neighbouring channels of its input, and no others.
bool keeps_channels(const Model& model, const Node& node) {
  const Shape& in = model.values[node.inputs[0]].shape;
  const Shape& out = model.values[node.output].shape;
  if (const auto* const transpose = std::get_if<Transpose>(&node.operation))
    return transpose->order.size() >= 2 && transpose->order[1] == 1;
  return std::holds_alternative<Reshape>(node.operation) && in.size() >= 2 && out.size() >= 2 && in[0] == out[0] &&
         out[1] > 0 && in[1] % out[1] == 0;
}

/// An affine node that can be folded, and the rows with it and the earlier ones.
struct Candidate {
  std::size_t node;
  std::vector<Row> rows;
};

/// `quantise`: the nodes that begin to quantise a value, of whose scale kernels for int8 have to know.
std::vector<Candidate> candidates_after(const Model& model, const ValueUses& uses, const std::vector<bool>& quantise,
                                        std::size_t maker) {
  const Operation& operation = model.nodes[maker].operation;
  ValueId value = model.nodes[maker].output;
  const bool sums = std::holds_alternative<Convolution>(operation) ||
                    // Its outputs are on the last axis, which is the channel axis only if there are two axes.
                    (std::holds_alternative<Linear>(operation) && model.values[value].shape.size() == 2);
  std::vector<Candidate> candidates;
  if (!sums) return candidates;
  std::vector<Row> rows(weights_of(operation).rows);
  for (std::size_t k = 0; k < bias_of(operation).size(); ++k) rows[k].bias = bias_of(operation)[k];
  while (const auto reader = uses.only_reader(value)) {
    if (quantise[*reader]) break;
    const Node& node = model.nodes[*reader];
    const std::vector<Affine> channels = affine_of(model, node, value);
    if (channels.empty() && !keeps_channels(model, node)) break;
    for (std::size_t k = 0; k < rows.size() && !channels.empty(); ++k) {
      const Affine& map = channels[k / (rows.size() / channels.size())];
      rows[k] = {rows[k].factor * map.factor, (rows[k].bias - map.mean) * map.factor + map.shift};
    }
    if (!channels.empty()) candidates.push_back({*reader, rows});
    value = node.output;
  }
  return candidates;
}

/// Whether the node could take the factors and biases in: no number may leave the range of fp32.
bool fold_into(Operation& operation, const std::vector<Row>& rows) {
  const CsrMatrix& weights = weights_of(operation);
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  std::vector<float> bias;
  for (Index row = 0; row < weights.rows; ++row) {
    const double factor = rows[row].factor;
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1] && factor != 0; ++k) {
      const auto value = static_cast<float>(weights.entry_value(k) * factor);
      if (factor != 1 && !std::isnormal(value)) return false;
      indices.push_back(weights.indices[k]);
      values.push_back(value);
    }
    offsets.push_back(indices.size());
    bias.push_back(static_cast<float>(rows[row].bias));
    if (!std::isfinite(bias.back())) return false;
  }
  const SumsView sums = sums_of(operation);
  *sums.weights = make_csr(weights.rows, weights.cols, std::move(offsets), std::move(indices), std::move(values));
  *sums.bias = std::move(bias);
  return true;
}

}  // namespace

Index fold_affine(Model& model) {
  ValueUses uses = uses_of(model);
  std::vector<bool> gone(model.nodes.size());
  std::vector<bool> quantise(model.nodes.size());
  for (const QuantisedValue& value : quantised_values(model)) quantise[value.first()] = true;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    std::vector<Candidate> candidates = candidates_after(model, uses, quantise, n);
    while (!candidates.empty() && !fold_into(model.nodes[n].operation, candidates.back().rows)) candidates.pop_back();
    for (const Candidate& candidate : candidates) {  // who made its input makes its output
      const Node& node = model.nodes[candidate.node];
      const auto maker =
          *std::find_if(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return uses.maker[id]; });
      const std::size_t before = *uses.maker[maker];
      model.nodes[before].output = node.output;
      uses.maker[node.output] = before;
      gone[candidate.node] = true;
    }
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (!gone[n]) kept.push_back(std::move(model.nodes[n]));
  const auto folded = static_cast<Index>(model.nodes.size() - kept.size());
  model.nodes = std::move(kept);
  if (folded > 0) remove_unread(model);
  return folded;
}

}  // namespace spdnn
