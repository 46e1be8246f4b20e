// Add, Sub, Mul, Div and Concat, of values and of constants.

#include <fmt/format.h>

#include "io/models/onnx/read/combined.hpp"
#include "io/models/onnx/read/fold.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

/// Before set 7 the second input may be aligned with an axis of the first: axes of length 1 are appended.
ValueId aligned_before_7(NodeReader& node, const Shape& first) {
  const Shape& second = node.shape(1);
  const bool broadcast = node.integer("broadcast", 0) != 0;
  const std::int64_t from = node.integer("axis", static_cast<std::int64_t>(first.size() - second.size()));
  if (!broadcast) {
    if (first != second)
      node.fail(fmt::format("{} and {} without the attribute broadcast", shape_text(first), shape_text(second)));
    return node.value(1);
  }
  if (from < 0 || static_cast<std::size_t>(from) + second.size() > first.size())
    node.fail_attribute("axis", fmt::format("{} does not place {} in {}", from, shape_text(second), shape_text(first)));
  Shape wide = second;
  wide.resize(first.size() - static_cast<std::size_t>(from), 1);
  const Constant* constant = node.constant_or_null(1);
  if (constant == nullptr || wide == second) return reshaped(node, node.value(1), wide);
  node.floats(1);
  return node.add_constant({wide, constant->values});
}

void read_elementwise(NodeReader& node, Elementwise::Kind kind) {
  const Constant* a = node.constant_or_null(0);
  const Constant* b = node.constant_or_null(1);
  if (a != nullptr && b != nullptr && node.opset() >= 7) return node.set_output(combined_constants(node, kind, *a, *b));
  const Shape first = node.shape(0);
  if (first.size() < node.shape(1).size() && node.opset() < 7)
    node.fail("the second input has more axes than the first");
  const ValueId second = node.opset() < 7 ? aligned_before_7(node, first) : node.value(1);
  node.set_output(Elementwise{kind}, {node.value(0), second});
}

}  // namespace

Shape shape_of_both(NodeReader& node, const Constant& a, const Constant& b) {
  if (a.integers() != b.integers()) node.fail("one input has integers, the other floating-point numbers");
  const auto shape = broadcast(a.shape, b.shape);
  const std::optional<Offset> count = shape ? elements(*shape) : std::nullopt;
  if (!count || *count > std::numeric_limits<std::size_t>::max() / 16)
    node.fail(fmt::format("the shapes {} and {} are not compatible", shape_text(a.shape), shape_text(b.shape)));
  node.graph().budget().take(*count * 2 * sizeof(std::int64_t));
  return *shape;
}

Constant combined_constants(NodeReader& node, Elementwise::Kind kind, const Constant& a, const Constant& b) {
  auto result = combined(kind, a, b, shape_of_both(node, a, b));
  if (!result) node.fail("integers cannot be computed: overflow, division by 0, or dependence on the number of images");
  return *std::move(result);
}

void read_add(NodeReader& node) { read_elementwise(node, Elementwise::Kind::add); }
void read_sub(NodeReader& node) { read_elementwise(node, Elementwise::Kind::subtract); }
void read_mul(NodeReader& node) { read_elementwise(node, Elementwise::Kind::multiply); }
void read_div(NodeReader& node) { read_elementwise(node, Elementwise::Kind::divide); }

void read_concat(NodeReader& node) {
  if (!node.has("axis")) node.fail("attribute axis is missing");
  const std::int64_t given = node.integer("axis", 0);
  std::vector<const Constant*> constants;
  for (std::size_t i = 0; i < node.inputs(); ++i)
    if (const Constant* constant = node.constant_or_null(i)) constants.push_back(constant);
  if (constants.size() < node.inputs()) {
    const std::size_t axis = node.axis("attribute axis", given, node.shape(0).size());
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < node.inputs(); ++i) values.push_back(node.value(i));
    if (axis == 0 && node.shape(0)[0] == kBatchExtent)
      node.fail_attribute("axis", "0 would join batches; give the batch a fixed size");
    return node.set_output(Concat{static_cast<Index>(axis)}, values);
  }

  Shape outline = constants[0]->shape;
  const std::size_t axis = node.axis("attribute axis", given, outline.size());
  outline[axis] = 0;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    Shape other = constants[i]->shape;
    if (axis < other.size()) other[axis] = 0;
    if (other != outline || constants[i]->integers() != constants[0]->integers())
      node.fail_input(i, "it does not fit the first in its type or the other axes");
    node.graph().budget().take(constants[i]->bytes());
  }
  node.set_output(joined(constants, axis));
}

}  // namespace spdnn::onnx_reader
