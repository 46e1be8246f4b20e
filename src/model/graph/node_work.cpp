#include "model/graph/node_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "core/text/amounts.hpp"

namespace spdnn {

namespace {

/// Elements of an image's output, each of which is one row's.
double outputs_of_image(const Shape& shape) {
  double outputs = 1;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) outputs *= static_cast<double>(shape[axis]);
  return outputs;
}

NodeWork work_of(const CsrMatrix& weights, const Shape& output) {
  NodeWork work{.weights = Offset{weights.rows} * weights.cols, .nonzeros = weights.entries(), .rows = weights.rows};
  if (weights.rows == 0) return work;
  work.places = outputs_of_image(output) / weights.rows;
  work.least = weights.cols;
  for (Index row = 0; row < weights.rows; ++row) {
    const auto degree = static_cast<Index>(weights.offsets[row + 1] - weights.offsets[row]);
    work.least = std::min(work.least, degree);
    work.most = std::max(work.most, degree);
  }
  return work;
}

}  // namespace

std::vector<NodeWork> work_of(const Model& model) {
  std::vector<NodeWork> work;
  work.reserve(model.nodes.size());
  for (const Node& node : model.nodes) {
    const Shape& output = model.values[node.output].shape;
    const CsrMatrix* const weights = matrix_or_null(node.operation);
    work.push_back(weights == nullptr ? NodeWork() : work_of(*weights, output));
  }
  return work;
}

ModelWork sum_of(const std::vector<NodeWork>& nodes) {
  ModelWork sum;
  for (const NodeWork& node : nodes) {
    sum.weights += node.weights;
    sum.nonzeros += node.nonzeros;
    sum.dense += node.dense();
    sum.sparse += node.sparse();
  }
  return sum;
}

std::size_t bytes_of(const Model& model) {
  std::size_t bytes = 0;
  const auto add = [&](const Weights& weights, const std::vector<float>& bias) {
    bytes += weights.bytes() + bias.size() * sizeof(float);
  };
  for (const Node& node : model.nodes) {
    if (const auto* convolution = std::get_if<Convolution>(&node.operation))
      add(convolution->weights, convolution->bias);
    else if (const auto* linear = std::get_if<Linear>(&node.operation))
      add(linear->weights, linear->bias);
    else if (const auto* norm = std::get_if<BatchNorm>(&node.operation))
      bytes += 4 * norm->scale.size() * sizeof(float);
  }
  for (const Value& value : model.values)
    if (value.constant) bytes += value.constant->values.bytes();
  return bytes;
}

std::vector<FormBytes> bytes_by_form(const Model& model) {
  std::map<std::string, FormBytes> forms;
  for (const Node& node : model.nodes) {
    const Weights* const weights = weights_or_null(node.operation);
    if (weights == nullptr) continue;
    FormBytes& form = forms[weights->form()];
    ++form.nodes;
    form.bytes += weights->bytes();
  }
  std::vector<FormBytes> all;
  all.reserve(forms.size());
  for (auto& [name, form] : forms) all.push_back({name, form.nodes, form.bytes});
  return all;
}

std::optional<std::string> note_on_forms(const Model& model) {
  bool exact = true;
  std::set<std::string> forms;
  std::size_t nodes = 0;
  for (const Node& node : model.nodes) {
    const Weights* const weights = weights_or_null(node.operation);
    if (weights == nullptr || weights->typed() == nullptr) continue;
    const Values& values = weights->typed()->values;
    forms.insert(weights->form());
    exact = exact && values.scales.empty();
    ++nodes;
  }
  if (nodes == 0) return std::nullopt;
  return fmt::format("weights of {} are stored as {}; engines compute with them as fp32, {}",
                     counted(nodes, "node", "nodes"), fmt::join(forms, ", "),
                     exact ? "exactly" : "scaled by one rounding each");
}

}  // namespace spdnn
