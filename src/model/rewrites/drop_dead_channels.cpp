#include "model/rewrites/drop_dead_channels.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/types/all_finite.hpp"
#include "model/oracle/evaluate.hpp"
#include "model/rewrites/channels.hpp"

namespace spdnn {

namespace {

/// The constant value of each channel, if it is constant.
using Constants = std::vector<std::optional<double>>;

bool has_padding(const Window& window) {
  return window.pad_begin != std::array<Index, 2>{} || window.pad_end != std::array<Index, 2>{};
}

/// The constant value after the node of a channel that is `before` everywhere, if known.
std::optional<double> constant_after(const Operation& operation, Index channel, Index width,
                                     const std::optional<double>& before) {
  const auto* const convolution = std::get_if<Convolution>(&operation);
  const auto* const pool = std::get_if<Pool>(&operation);
  const bool unread = convolution != nullptr && width == 1 && convolution->weights->degree(channel) == 0;
  if (!before && !unread) return std::nullopt;
  const double value = before.value_or(0);
  if (convolution != nullptr) {
    if (width > 1 || (value != 0 && !unread && has_padding(convolution->window))) return std::nullopt;
    double sum = convolution->bias.empty() ? 0 : convolution->bias[channel];
    const CsrMatrix& weights = convolution->weights;
    for (Offset k = weights.offsets[channel]; k < weights.offsets[std::size_t{channel} + 1]; ++k)
      sum += weights.entry_value(k) * value;
    return sum;
  }
  if (pool != nullptr && pool->kind == Pool::Kind::average && pool->count_padding && has_padding(pool->window) &&
      value != 0)
    return std::nullopt;
  const bool by_element = std::holds_alternative<Activation>(operation) || std::holds_alternative<BatchNorm>(operation);
  if (!by_element) return value;  // a maximum, a mean, or the same elsewhere
  if (width > 1) return std::nullopt;
  const Bounded one{{1, 1}, {value}, {0}, 0};
  return evaluate(restricted_to(operation, {channel}, 1), {&one}).values[0];
}

/// The constants of each value on the path.
std::map<ValueId, Constants> constants_of(const Model& model, const ChannelPath& path) {
  const Node& maker = model.nodes[path.maker];
  const CsrMatrix& weights = weights_of(maker.operation);
  const std::vector<float>& bias = bias_of(maker.operation);
  std::map<ValueId, Constants> constants;
  Constants& made = constants[maker.output];
  made.resize(weights.rows);
  for (Index k = 0; k < weights.rows; ++k)
    if (weights.degree(k) == 0) made[k] = bias.empty() ? 0 : bias[k];
  for (const ChannelPath::Between& between : path.between) {
    const Node& node = model.nodes[between.node];
    const Constants& before = constants.at(node.inputs[0]);
    Constants after(before.size());
    for (Index k = 0; k < after.size(); ++k) after[k] = constant_after(node.operation, k, between.width, before[k]);
    constants[node.output] = std::move(after);
  }
  return constants;
}

/// A channel may go if each reader has no weights for it, or can take it into its bias.
std::vector<bool> droppable(const Model& model, const ChannelPath& path,
                            const std::map<ValueId, Constants>& constants) {
  std::vector<bool> droppable(weights_of(model.nodes[path.maker].operation).rows, true);
  for (const ChannelPath::Reader& reader : path.readers) {
    const Node& node = model.nodes[reader.node];
    const Constants& values = constants.at(node.inputs[0]);
    const auto* const convolution = std::get_if<Convolution>(&node.operation);
    const bool padded = convolution != nullptr && has_padding(convolution->window);
    for (const Index column : weights_of(node.operation).indices) {
      const Index channel = column / reader.columns;
      const auto& value = values[channel];
      if (!value || !std::isfinite(*value) || (padded && *value != 0)) droppable[channel] = false;
    }
  }
  return droppable;
}

/// The reader's bias including the contribution of the dropped channels.
std::vector<float> bias_with(const Node& node, Index columns, const Constants& values,
                             const std::vector<bool>& dropped) {
  const CsrMatrix& weights = weights_of(node.operation);
  const std::vector<float>& before = bias_of(node.operation);
  std::vector<float> bias(weights.rows);
  for (Index row = 0; row < weights.rows; ++row) {
    double sum = before.empty() ? 0 : before[row];
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k) {
      const Index channel = weights.indices[k] / columns;
      if (dropped[channel]) sum += weights.entry_value(k) * *values[channel];
    }
    bias[row] = static_cast<float>(sum);
  }
  return bias;
}

/// How many channels of the node are gone.
Index drop_in(Model& model, const ChannelPath& path) {
  const std::map<ValueId, Constants> constants = constants_of(model, path);
  std::vector<bool> dropped = droppable(model, path, constants);
  if (std::find(dropped.begin(), dropped.end(), false) == dropped.end() && !dropped.empty()) dropped[0] = false;
  std::vector<Index> target(dropped.size(), kDropped);
  Index count = 0;
  for (std::size_t k = 0; k < dropped.size(); ++k)
    if (!dropped[k]) target[k] = count++;
  const auto gone = static_cast<Index>(dropped.size()) - count;
  if (gone == 0) return 0;

  std::vector<std::vector<float>> biases;
  for (const ChannelPath::Reader& reader : path.readers) {
    const Node& read = model.nodes[reader.node];
    biases.push_back(bias_with(read, reader.columns, constants.at(read.inputs[0]), dropped));
    if (!all_finite(biases.back())) return 0;
  }
  if (!renumber_channels(model, path, target, count)) return 0;
  for (std::size_t i = 0; i < biases.size(); ++i)
    *sums_of(model.nodes[path.readers[i].node].operation).bias = std::move(biases[i]);
  return gone;
}

}  // namespace

Index drop_dead_channels(Model& model) {
  const ValueUses uses = uses_of(model);
  // Backwards, because a removed filter reads no earlier channels. A filter that has lost its last weight is constant
  // for later nodes, so its node is processed again; it then reads nothing.
  std::set<std::size_t> open;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) open.insert(n);
  Index gone = 0;
  while (!open.empty()) {
    const auto path = channel_path(model, uses, open.extract(std::prev(open.end())).value());
    const Index dropped = path ? drop_in(model, *path) : 0;
    gone += dropped;
    if (dropped == 0) continue;
    for (const ChannelPath::Reader& reader : path->readers) open.insert(reader.node);
  }
  return gone;
}

}  // namespace spdnn
