#include "io/models/onnx/read/node.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/types/all_finite.hpp"
#include "io/arrays/numbers.hpp"
#include "io/models/add_node.hpp"
#include "model/operations/operations.hpp"

namespace spdnn::onnx_reader {

using onnx::AttributeProto;

NodeReader::NodeReader(Graph& graph, const onnx::NodeProto& node, int number)
    : graph_(graph), node_(node), name_(node.name().empty() ? fmt::format("#{}", number) : node.name()) {
  where_ = fmt::format("{}: node '{}' ({})", graph.file(), name_, node.op_type());
  std::set<std::string> names;
  for (const AttributeProto& one : node.attribute())
    if (!names.insert(one.name()).second) fail_attribute(one.name(), "it is repeated");
}

void NodeReader::fail(const std::string& problem) const { throw DataError(fmt::format("{}: {}", where_, problem)); }

void NodeReader::fail_attribute(const std::string& name, const std::string& problem) const {
  fail(fmt::format("attribute {}: {}", name, problem));
}

void NodeReader::fail_input(std::size_t i, const std::string& problem) const {
  fail(fmt::format("input {} '{}': {}", i + 1, i < inputs() ? input_name(i) : "", problem));
}

const AttributeProto* NodeReader::attribute(const std::string& name) {
  asked_.insert(name);
  const auto& all = node_.attribute();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

const AttributeProto* NodeReader::attribute(const std::string& name, AttributeProto::AttributeType type) {
  const AttributeProto* found = attribute(name);
  if (found != nullptr && found->type() != type)
    fail_attribute(name, fmt::format("it is of type {}, expected {}", AttributeProto::AttributeType_Name(found->type()),
                                     AttributeProto::AttributeType_Name(type)));
  return found;
}

std::int64_t NodeReader::integer(const std::string& name, std::int64_t otherwise) {
  const AttributeProto* found = attribute(name, AttributeProto::INT);
  return found == nullptr ? otherwise : found->i();
}

float NodeReader::any_real(const std::string& name, float otherwise) {
  const AttributeProto* found = attribute(name, AttributeProto::FLOAT);
  return found == nullptr ? otherwise : found->f();
}

float NodeReader::real(const std::string& name, float otherwise) {
  const float number = any_real(name, otherwise);
  if (!std::isfinite(number)) fail_attribute(name, fmt::format("{} is not finite", number));
  return number;
}

std::string NodeReader::text(const std::string& name, const std::string& otherwise) {
  const AttributeProto* found = attribute(name, AttributeProto::STRING);
  return found == nullptr ? otherwise : found->s();
}

std::optional<std::vector<std::int64_t>> NodeReader::integers(const std::string& name) {
  const AttributeProto* found = attribute(name, AttributeProto::INTS);
  if (found == nullptr) return std::nullopt;
  return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<float>> NodeReader::reals(const std::string& name) {
  const AttributeProto* found = attribute(name, AttributeProto::FLOATS);
  if (found == nullptr) return std::nullopt;
  return std::vector<float>(found->floats().begin(), found->floats().end());
}

const AttributeProto* NodeReader::tensor(const std::string& name) { return attribute(name, AttributeProto::TENSOR); }

void NodeReader::require(const std::string& name, std::int64_t expected, const std::string& supported) {
  const std::int64_t found = integer(name, expected);
  if (found != expected) fail_attribute(name, fmt::format("{} is not supported: {}", found, supported));
}

void NodeReader::require(const std::string& name, const std::string& expected) {
  const std::string found = text(name, expected);
  if (found != expected) fail_attribute(name, fmt::format("'{}' is not supported, only '{}'", found, expected));
}

void NodeReader::finish() const {
  for (const AttributeProto& one : node_.attribute())
    if (!asked_.contains(one.name()))
      fail_attribute(one.name(), asked_.empty()
                                     ? std::string("not supported: the operator has no attributes")
                                     : fmt::format("not supported; supported attributes: {}", fmt::join(asked_, ", ")));
}

const Constant* NodeReader::constant_or_null(std::size_t i) const {
  return has_input(i) ? graph_.constant_or_null(input_name(i)) : nullptr;
}

const Surrounded* NodeReader::surrounded_or_null(std::size_t i) const {
  return has_input(i) ? std::get_if<Surrounded>(&graph_.symbol(input_name(i))) : nullptr;
}

const Constant& NodeReader::constant(std::size_t i) const {
  if (!has_input(i)) fail(fmt::format("input {} is missing", i + 1));
  const Constant* found = constant_or_null(i);
  if (found == nullptr) fail_input(i, "it depends on the inputs of the model, and must be a constant");
  return *found;
}

std::span<const float> NodeReader::floats(std::size_t i) const {
  const Constant& found = constant(i);
  if (found.integers()) fail_input(i, "it has integers, expected floating-point numbers");
  require_finite(input_text(i), found.floats());
  return found.floats();
}

std::string NodeReader::input_text(std::size_t i) const {
  return fmt::format("{}: input {} '{}'", where_, i + 1, input_name(i));
}

Shape NodeReader::weights_shape(std::size_t i) const {
  if (has_input(i))
    if (const auto* const sparse = std::get_if<SparseConstant>(&graph_.symbol(input_name(i)))) return sparse->shape;
  const Constant& found = constant(i);
  if (found.integers()) fail_input(i, "it has integers, expected floating-point numbers");
  return found.shape;
}

std::span<const std::int64_t> NodeReader::ints(std::size_t i) const {
  const Constant& found = constant(i);
  if (!found.integers()) fail_input(i, "it has floating-point numbers, expected integers");
  if (std::count(found.ints().begin(), found.ints().end(), kImages) > 0)
    fail_input(i, "it depends on the number of images in a batch, and must be a constant");
  return found.ints();
}

float NodeReader::scalar(std::size_t i) const {
  const Constant& found = constant(i);
  if (found.integers() || found.size() != 1) fail_input(i, "expected one floating-point number");
  return found.floats()[0];
}

bool NodeReader::is_constant(std::size_t i) const {
  if (!has_input(i)) return false;
  const Symbol& symbol = graph_.symbol(input_name(i));
  return std::holds_alternative<Constant>(symbol) || std::holds_alternative<SparseConstant>(symbol);
}

bool NodeReader::is_whole(std::size_t i) const {
  const ValueId* known = has_input(i) ? std::get_if<ValueId>(&graph_.symbol(input_name(i))) : nullptr;
  return known != nullptr && graph_.is_whole(*known);
}

ValueId NodeReader::value(std::size_t i) {
  if (is_whole(i))
    fail_input(i, "it has integers, which only Cast, DequantizeLinear and operators that move elements take");
  return any_value(i);
}

ValueId NodeReader::any_value(std::size_t i) {
  if (!has_input(i)) fail(fmt::format("input {} is missing", i + 1));
  if (const ValueId* known = std::get_if<ValueId>(&graph_.symbol(input_name(i)))) return *known;
  if (surrounded_or_null(i) != nullptr) fail_input(i, "it is padded with -inf, which only MaxPool accepts");
  floats(i);
  return graph_.add_constant(constant(i));
}

const Shape& NodeReader::shape(std::size_t i) const {
  if (!has_input(i)) fail(fmt::format("input {} is missing", i + 1));
  if (const ValueId* known = std::get_if<ValueId>(&graph_.symbol(input_name(i)))) return graph_.shape(*known);
  if (const Surrounded* known = surrounded_or_null(i)) return known->shape;
  if (constant(i).integers()) fail_input(i, "it has integers, expected floating-point numbers");
  return constant(i).shape;
}

std::size_t NodeReader::axis(const std::string& attribute_or_input, std::int64_t axis, std::size_t limit) const {
  const auto count = static_cast<std::int64_t>(limit);
  if (axis < -count || axis >= count)
    fail(fmt::format("{}: axis {} is outside the {} axes", attribute_or_input, axis, limit));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::optional<Constant> NodeReader::folded(const Operation& operation, const std::vector<ValueId>& inputs) {
  const auto known = [&](ValueId id) { return graph_.model().values[id].constant.has_value(); };
  if (!std::all_of(inputs.begin(), inputs.end(), known)) return std::nullopt;
  std::vector<Bounded> exact;
  std::vector<const Bounded*> read;
  std::vector<Shape> shapes;
  for (const ValueId id : inputs) {
    const Tensor& tensor = *graph_.model().values[id].constant;
    graph_.budget().take(tensor.values.size() * sizeof(float));
    exact.push_back(
        {tensor.shape, {tensor.values.begin(), tensor.values.end()}, std::vector<double>(tensor.values.size())});
    shapes.push_back(tensor.shape);
  }
  read.reserve(exact.size());
  for (const Bounded& one : exact) read.push_back(&one);
  try {
    graph_.budget().take(*elements(output_shape(operation, shapes)) * sizeof(float));
    const Bounded result = evaluate(operation, read);
    std::vector<float> numbers(result.values.size());
    std::transform(result.values.begin(), result.values.end(), numbers.begin(),
                   [](double value) { return static_cast<float>(value); });
    if (!all_finite(numbers)) return std::nullopt;
    return Constant{result.shape, Array<float>(std::move(numbers)), node_.output(0)};
  } catch (const UsageError& refusal) {
    fail(refusal.what());
  }
}

ValueId NodeReader::add(Operation operation, std::vector<ValueId> inputs) {
  if (const auto constant = folded(operation, inputs)) return graph_.add_constant(*constant);
  const std::string& output = node_.output(0);
  return add_node(graph_.model(), where_, name_, output, std::move(operation), std::move(inputs));
}

ValueId NodeReader::add_constant(const Constant& constant) { return graph_.add_constant(constant); }

void NodeReader::set_output(Symbol symbol, std::size_t i) {
  if (const ValueId* value = std::get_if<ValueId>(&symbol))
    if (const auto& tensor = graph_.model().values[*value].constant) symbol = Constant{tensor->shape, tensor->values};
  const Constant* constant = std::get_if<Constant>(&symbol);
  if (constant != nullptr && constant->size() == 0 && constant->shape.size() > 1)
    fail(fmt::format("the result is a constant of shape {}, which has no elements", shape_text(constant->shape)));
  graph_.set(node_.output(static_cast<int>(i)), std::move(symbol));
}

void NodeReader::set_moved(ValueId value) {
  if (is_whole(0)) graph_.mark_whole(value, graph_.type_of_whole(any_value(0)));
  set_output(value);
}

}  // namespace spdnn::onnx_reader
