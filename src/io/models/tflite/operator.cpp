#include "io/models/tflite/operator.hpp"

#include <fmt/format.h>

#include "io/models/add_node.hpp"

namespace spdnn::tflite_reader {

OperatorReader::OperatorReader(Graph& graph, const tflite::Operator& source, std::size_t number,
                               const std::string& name)
    : graph_(graph), source_(source), where_(fmt::format("{}: operator {} ({})", graph.file(), number, name)) {
  if (source.outputs() == nullptr || source.outputs()->size() == 0) fail("expected one output");
  name_ = graph_.name(output());
}

void OperatorReader::fail_input(std::size_t i, const std::string& problem) const {
  fail(fmt::format("input {} '{}': {}", i, graph_.name(input(i)), problem));
}

TensorId OperatorReader::checked_input(std::size_t i) const {
  if (!has_input(i)) fail(fmt::format("input {} is missing", i));
  return input(i);
}

std::size_t OperatorReader::rank(std::size_t i) const {
  const auto* known = graph_.find(checked_input(i));
  if (known != nullptr && std::holds_alternative<ValueId>(*known)) return shape(std::get<ValueId>(*known)).size();
  const auto* stated = graph_.tensor(input(i)).shape();
  return stated == nullptr ? 0 : stated->size();
}

const Constant& OperatorReader::constant(std::size_t i) {
  const Constant* known = constant_or_null(i);
  if (known == nullptr) fail_input(i, "it depends on the inputs of the model, and must be a constant");
  return *known;
}

std::vector<std::int64_t> OperatorReader::integers(std::size_t i) {
  const TensorId id = checked_input(i);
  return read_integers(graph_.source(), graph_.tensor(id),
                       fmt::format("{}: input {} '{}'", where_, i, graph_.name(id)));
}

std::vector<float> OperatorReader::bias(std::size_t i, Index count) {
  if (!has_input(i)) return {};
  const Constant dense = densified(constant(i), graph_.budget());
  if (dense.values.size() != count)
    fail_input(i, fmt::format("its shape is {}; expected {} numbers", shape_text(dense.shape), count));
  return {dense.values.begin(), dense.values.end()};
}

ValueId OperatorReader::value(std::size_t i, std::size_t rank) {
  const TensorId id = checked_input(i);
  if (const auto* known = graph_.find(id); known != nullptr && std::holds_alternative<ValueId>(*known)) {
    const ValueId value = std::get<ValueId>(*known);
    if (shape(value).size() != rank && (rank == kImageAxes || shape(value).size() == kImageAxes))
      fail_input(i, fmt::format("{} axes do not match {}", shape(value).size(), rank));
    return value;
  }
  if (constant_or_null(i) == nullptr) fail_input(i, "it is neither a constant nor the output of an earlier operator");
  Constant dense = densified(constant(i), graph_.budget());
  if (dense.shape.size() > rank) fail_input(i, fmt::format("{} axes do not match {}", dense.shape.size(), rank));
  dense.shape.insert(dense.shape.begin(), rank - dense.shape.size(), 1);
  if (rank == kImageAxes) dense = transposed(dense, to_channels_first().order, graph_.budget());
  return graph_.add_value(graph_.name(id), dense);
}

ValueId OperatorReader::images(std::size_t i) {
  if (rank(i) != kImageAxes) fail_input(i, fmt::format("{} axes, expected four: N x H x W x C", rank(i)));
  return value(i);
}

ValueId OperatorReader::add(Operation operation, std::vector<ValueId> inputs) {
  return add_node(graph_.model(), where_, name_, name_, std::move(operation), std::move(inputs));
}

ValueId OperatorReader::in_file_order(ValueId value, const Shape& to) {
  const auto same_order = [](Extent channels, Extent pixels) { return channels == 1 || pixels == 1; };
  const Shape& from = shape(value);
  if (from == to && to.size() != kImageAxes) return value;
  if (from.size() == kImageAxes && !same_order(from[1], from[2] * from[3])) value = add(to_channels_last(), {value});
  if (to.size() != kImageAxes) return add(Reshape{to}, {value});
  if (same_order(to[3], to[1] * to[2])) return add(Reshape{{to[0], to[3], to[1], to[2]}}, {value});
  return add(to_channels_first(), {add(Reshape{to}, {value})});
}

void OperatorReader::require_stated_shape(const Shape& shape, std::size_t i) const {
  const tflite::Tensor& tensor = graph_.tensor(output(i));
  if (graph_.reshaped() || tensor.shape() == nullptr || tensor.shape()->size() == 0) return;
  Shape stated;
  for (const std::int32_t extent : *tensor.shape()) stated.push_back(extent);
  const std::size_t rank = shape.size();
  bool equal = stated.size() == rank;
  for (std::size_t axis = 1; equal && axis < rank; ++axis) equal = stated[axis] == shape[axis_of_value(axis, rank)];
  if (!equal)
    fail(fmt::format("its output '{}' has the shape {} in the file, but {} follows from its inputs{}",
                     graph_.name(output(i)), shape_text(stated), shape_text(shape),
                     rank == kImageAxes ? ", channels first" : ""));
}

void OperatorReader::set_output(ValueId value, tflite::FusedActivation fused, std::size_t i) {
  using Fused = tflite::FusedActivation;
  if (fused == Fused::RELU) {
    value = add(Activation{}, {value});
  } else if (fused == Fused::RELU6) {
    value = add(clip(0, 6), {value});
  } else if (fused == Fused::RELU_N1_TO_1) {
    value = add(clip(-1, 1), {value});
  } else if (fused != Fused::NONE) {
    const char* name = tflite::EnumNameFusedActivation(fused);
    fail(fmt::format("the fused activation {} is not supported; expected NONE, RELU, RELU6 or RELU_N1_TO_1",
                     *name == '\0' ? std::to_string(static_cast<int>(fused)) : name));
  }
  require_stated_shape(shape(value), i);
  graph_.set(output(i), value);
}

Activation clip(float low, float high) { return {.kind = Activation::Kind::clip, .low = low, .high = high}; }

}  // namespace spdnn::tflite_reader
