#include "model/rewrites/channels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace spdnn {

namespace {

Index taps(const Convolution& convolution) { return convolution.window.kernel[0] * convolution.window.kernel[1]; }

bool depthwise(const Convolution& convolution) {
  return convolution.groups == convolution.weights.rows() && convolution.weights.cols() == taps(convolution);
}

/// The role of a node on a path, if it reads channels that are `width` elements wide.
struct ChannelStep {
  bool sums = false;     ///< it is a reader
  Index columns = 0;     ///< if it is
  Index next_width = 0;  ///< of its output, if it differs
};

/// Empty if the node mixes channels, or reads them along another axis.
std::optional<ChannelStep> step_of(const Model& model, const Node& node, Index width) {
  const Operation& operation = node.operation;
  const Shape& in = model.values[node.inputs[0]].shape;
  const Shape& out = model.values[node.output].shape;
  if (const auto* const convolution = std::get_if<Convolution>(&operation)) {
    if (depthwise(*convolution) && convolution->groups > 1) return ChannelStep{.next_width = width};
    if (convolution->groups == 1) return ChannelStep{.sums = true, .columns = width * taps(*convolution)};
    return std::nullopt;
  }
  if (std::holds_alternative<Linear>(operation)) {
    if (in.size() == 2) return ChannelStep{.sums = true, .columns = width};
    return std::nullopt;
  }
  if (std::holds_alternative<Reshape>(operation)) {
    if (out.size() < 2 || in[0] != out[0]) return std::nullopt;
    if (out[1] == in[1]) return ChannelStep{.next_width = width};
    Extent rest = 1;
    for (std::size_t axis = 2; axis < in.size(); ++axis) rest *= in[axis];
    if (out.size() == 2 && out[1] == in[1] * rest) return ChannelStep{.next_width = static_cast<Index>(width * rest)};
    return std::nullopt;
  }
  const bool by_itself = std::holds_alternative<Activation>(operation) ||
                         std::holds_alternative<BatchNorm>(operation) || std::holds_alternative<Pool>(operation) ||
                         std::holds_alternative<GlobalPool>(operation) || std::holds_alternative<Resize>(operation);
  return by_itself ? std::optional<ChannelStep>({.next_width = width}) : std::nullopt;
}

bool makes_channels(const Model& model, const Node& node) {
  if (const auto* const convolution = std::get_if<Convolution>(&node.operation)) return convolution->groups == 1;
  return std::holds_alternative<Linear>(node.operation) && model.values[node.output].shape.size() == 2;
}

std::vector<Index> widened(const std::vector<Index>& channels, Index width) {
  std::vector<Index> elements;
  for (const Index channel : channels)
    for (Index i = 0; i < width; ++i) elements.push_back(channel * width + i);
  return elements;
}

void keep_values(std::vector<float>& values, const std::vector<Index>& kept) {
  std::vector<float> left;
  if (!values.empty())
    for (const Index i : kept) left.push_back(values[i]);
  values = std::move(left);
}

CsrMatrix rows_of(const CsrMatrix& weights, const std::vector<Index>& kept) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (const Index row : kept) {
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k) {
      indices.push_back(weights.indices[k]);
      values.push_back(weights.entry_value(k));
    }
    offsets.push_back(indices.size());
  }
  return make_csr(static_cast<Index>(kept.size()), weights.cols, std::move(offsets), std::move(indices),
                  std::move(values));
}

/// The shape of the node's output, given those of its inputs.
void set_shape(Model& model, std::size_t n) {
  const Node& node = model.nodes[n];
  model.values[node.output].shape = output_shape(node.operation, {model.values[node.inputs[0]].shape});
}

/// The weights with column c renamed as its channel is; each channel has `width` of them.
std::optional<CsrMatrix> renumbered(const CsrMatrix& weights, Index width, const std::vector<Index>& target,
                                    Index count) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  std::vector<std::pair<Index, double>> row_terms;
  for (Index row = 0; row < weights.rows; ++row) {
    row_terms.clear();
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k) {
      const Index column = weights.indices[k];
      const Index channel = target[column / width];
      if (channel != kDropped) row_terms.emplace_back(channel * width + column % width, weights.entry_value(k));
    }
    std::stable_sort(row_terms.begin(), row_terms.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < row_terms.size();) {
      const auto [column, first] = row_terms[i];
      double sum = 0;
      const std::size_t begin = i;
      for (; i < row_terms.size() && row_terms[i].first == column; ++i) sum += row_terms[i].second;
      const auto value = static_cast<float>(sum);
      if (i - begin > 1 && sum != 0 && !std::isnormal(value)) return std::nullopt;
      if (sum == 0) continue;
      indices.push_back(column);
      values.push_back(value);
    }
    offsets.push_back(indices.size());
  }
  return make_csr(weights.rows, count * width, std::move(offsets), std::move(indices), std::move(values));
}

}  // namespace

SumsView sums_of(Operation& operation) {
  if (auto* const convolution = std::get_if<Convolution>(&operation))
    return {&convolution->weights, &convolution->bias};
  auto& linear = std::get<Linear>(operation);
  return {&linear.weights, &linear.bias};
}

const CsrMatrix& weights_of(const Operation& operation) { return *matrix_or_null(operation); }

const std::vector<float>& bias_of(const Operation& operation) {
  if (const auto* const convolution = std::get_if<Convolution>(&operation)) return convolution->bias;
  return std::get<Linear>(operation).bias;
}

std::optional<ChannelPath> channel_path(const Model& model, const ValueUses& uses, std::size_t maker) {
  if (!makes_channels(model, model.nodes[maker])) return std::nullopt;
  ChannelPath path;
  path.maker = maker;
  std::vector<std::pair<ValueId, Index>> values{{model.nodes[maker].output, 1}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [value, width] = values[i];
    if (uses.is_output[value]) return std::nullopt;
    for (const std::size_t n : uses.readers[value]) {
      const auto step = step_of(model, model.nodes[n], width);
      if (!step) return std::nullopt;
      if (step->sums) {
        path.readers.push_back({n, step->columns});
      } else {
        path.between.push_back({n, width});
        values.emplace_back(model.nodes[n].output, step->next_width);
      }
    }
  }
  return path;
}

Operation restricted_to(Operation operation, const std::vector<Index>& channels, Index width) {
  const std::vector<Index> kept = widened(channels, width);
  if (auto* const norm = std::get_if<BatchNorm>(&operation)) {
    for (std::vector<float>* values : {&norm->scale, &norm->shift, &norm->mean, &norm->variance})
      keep_values(*values, kept);
  } else if (auto* const activation = std::get_if<Activation>(&operation)) {
    if (activation->alphas.size() > 1) keep_values(activation->alphas, kept);
  } else if (auto* const convolution = std::get_if<Convolution>(&operation)) {
    convolution->weights = rows_of(convolution->weights, kept);
    keep_values(convolution->bias, kept);
    if (convolution->groups > 1) convolution->groups = static_cast<Index>(kept.size());
  } else if (auto* const linear = std::get_if<Linear>(&operation)) {
    linear->weights = rows_of(linear->weights, kept);
    keep_values(linear->bias, kept);
  }
  return operation;
}

bool renumber_channels(Model& model, const ChannelPath& path, const std::vector<Index>& target, Index count) {
  std::vector<CsrMatrix> weights;
  for (const ChannelPath::Reader& reader : path.readers) {
    auto changed = renumbered(weights_of(model.nodes[reader.node].operation), reader.columns, target, count);
    if (!changed) return false;
    weights.push_back(std::move(*changed));
  }
  for (std::size_t i = 0; i < weights.size(); ++i)
    *sums_of(model.nodes[path.readers[i].node].operation).weights = std::move(weights[i]);

  std::vector<Index> kept(count);
  for (Index k = static_cast<Index>(target.size()); k-- > 0;)
    if (target[k] != kDropped) kept[target[k]] = k;
  const auto restrict = [&](std::size_t n, Index width) {
    Operation& operation = model.nodes[n].operation;
    operation = restricted_to(std::move(operation), kept, width);
  };
  restrict(path.maker, 1);
  for (const ChannelPath::Between& between : path.between) {
    restrict(between.node, between.width);
    if (auto* const reshape = std::get_if<Reshape>(&model.nodes[between.node].operation)) {
      reshape->shape = model.values[model.nodes[between.node].output].shape;
      reshape->shape[1] = reshape->shape[1] / static_cast<Extent>(target.size()) * count;
    }
  }
  set_shape(model, path.maker);
  for (const ChannelPath::Between& between : path.between) set_shape(model, between.node);
  return true;
}

}  // namespace spdnn
