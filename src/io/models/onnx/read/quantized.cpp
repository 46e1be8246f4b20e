// QuantizeLinear and DequantizeLinear, as fp32 arithmetic, and Cast.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "io/models/onnx/read/combined.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

using Both = Elementwise::Kind;
using onnx::TensorProto;

/// Input 1 or 2, one number for all of a shape or one for each place along an axis, shaped to be combined with input 0.
ValueId per_axis(NodeReader& node, std::size_t input, const Shape& of, std::size_t axis) {
  const ValueId numbers = as_floats(node, input);
  const Shape shape = node.graph().shape(numbers);
  if (elements(shape) == 1) return reshaped(node, numbers, {});
  if (axis >= of.size())
    node.fail_input(input, fmt::format("expected one number, as input 1, of shape {}, has no axis of channels; its "
                                       "shape is {}",
                                       shape_text(of), shape_text(shape)));
  if (shape != Shape{of[axis]})
    node.fail_input(input, fmt::format("expected one number, or one for each of the {} places of axis {} of input 1; "
                                       "its shape is {}",
                                       shape_text({of[axis]}), axis, shape_text(shape)));
  Shape wide(of.size() - axis, 1);
  wide[0] = shape[0];
  return reshaped(node, numbers, wide);
}

/// The axis along which scales differ: 1 by default, and not given before set 13.
std::size_t read_axis(NodeReader& node, std::size_t rank) {
  const std::int64_t axis = node.opset() < 13 ? 1 : node.integer("axis", 1);
  if (node.opset() >= 21) node.require("block_size", 0, "no blocks");
  return rank == 0 || (axis == 1 && rank == 1) ? rank : node.axis("attribute axis", axis, rank);
}

/// The least and the largest number of a type that values are quantised to.
std::optional<std::pair<float, float>> limits(NumberType type) {
  switch (type) {
    case NumberType::i8:
      return std::pair{-128.F, 127.F};
    case NumberType::u8:
      return std::pair{0.F, 255.F};
    case NumberType::i16:
      return std::pair{-32768.F, 32767.F};
    case NumberType::u16:
      return std::pair{0.F, 65535.F};
    default:
      return std::nullopt;
  }
}

/// Of the integers that QuantizeLinear makes, which is that of the zero point.
NumberType quantised_type(NodeReader& node) {
  const NumberType type = node.has_input(2) ? node.constant(2).type : NumberType::u8;
  if (!limits(type))
    node.fail_input(2, fmt::format("{} is not supported: expected INT8, UINT8, INT16 or UINT16", name_of(type)));
  return type;
}

/// Of the integers of input 0, if the file says it.
std::optional<NumberType> type_of_integers(NodeReader& node) {
  return node.is_constant(0) ? node.constant(0).type : node.graph().type_of_whole(node.any_value(0));
}

/// The zero point of DequantizeLinear has the type of the integers.
void require_type_of_zero_point(NodeReader& node) {
  const auto type = type_of_integers(node);
  const NumberType zero = node.constant(2).type;
  if (type && limits(*type) && limits(zero) && *type != zero)
    node.fail_input(2, fmt::format("its type is {}, but that of input 1 is {}", name_of(zero), name_of(*type)));
}

bool is_floating(std::int64_t type) { return type == TensorProto::FLOAT || type == TensorProto::DOUBLE; }

std::int64_t rounded_to_zero(NodeReader& node, float number) {
  // The limit is below 2^63, so every integral fp32 number in range is a 64-bit integer.
  if (!(std::abs(number) <= 4.6e18F)) node.fail_input(0, fmt::format("{} is not a 64-bit integer", number));
  return static_cast<std::int64_t>(number);
}

Constant cast(NodeReader& node, const Constant& from, std::int64_t to) {
  if (from.integers() == !is_floating(to) && to != TensorProto::INT32 && to != TensorProto::BOOL) return from;
  node.graph().budget().take(from.size() * sizeof(std::int64_t));
  if (is_floating(to)) {
    const std::span<const std::int64_t> integers = node.ints(0);
    return {from.shape, Array<float>(std::vector<float>(integers.begin(), integers.end()))};
  }
  std::vector<std::int64_t> integers(from.size());
  for (std::size_t i = 0; i < integers.size(); ++i) {
    std::int64_t& number = integers[i];
    const bool truth = to == TensorProto::BOOL;
    if (!from.integers()) {
      number = truth ? from.floats()[i] != 0 : rounded_to_zero(node, from.floats()[i]);
    } else {
      number = truth ? from.ints()[i] != 0 : from.ints()[i];
    }
    if (to == TensorProto::INT32 && number != kImages && !std::in_range<std::int32_t>(number))
      node.fail_input(0, fmt::format("{} is not a 32-bit integer", number));
  }
  return {from.shape, Array<std::int64_t>(std::move(integers))};
}

}  // namespace

ValueId as_floats(NodeReader& node, std::size_t input) {
  const Constant& given = node.constant(input);
  if (!given.integers()) return node.value(input);
  const std::span<const std::int64_t> numbers = node.ints(input);
  node.graph().budget().take(numbers.size() * sizeof(float));
  return node.add_constant({given.shape, Array<float>(std::vector<float>(numbers.begin(), numbers.end()))});
}

void read_cast(NodeReader& node) {
  const std::int64_t to = node.integer("to", 0);
  if (node.opset() >= 19) node.ignore("saturate");  // of numbers with 8 bits
  const Constant* constant = node.constant_or_null(0);
  const bool integers = to == TensorProto::INT64 || to == TensorProto::INT32 || to == TensorProto::BOOL;
  const bool stays_whole = node.is_whole(0) && (to == TensorProto::INT64 || to == TensorProto::INT32);
  if (constant == nullptr && !is_floating(to) && !stays_whole)
    node.fail_attribute(
        "to", type_name(to) + " is not supported for values that depend on the model's inputs, only FLOAT and DOUBLE");
  if (constant != nullptr && !integers && !is_floating(to))
    node.fail_attribute("to", type_name(to) + " is not supported; expected FLOAT, DOUBLE, INT64, INT32 or BOOL");
  if (constant != nullptr) return node.set_output(cast(node, *constant, to));
  if (stays_whole) return node.set_moved(node.any_value(0));
  // A value of its own, as the one that is cast may have integers.
  node.set_output(node.is_whole(0) ? node.add(Activation{.kind = Activation::Kind::identity}, {node.any_value(0)})
                                   : node.value(0));
}

void read_quantize_linear(NodeReader& node) {
  if (node.opset() >= 19) node.ignore("saturate");
  const Shape shape = node.shape(0);
  const std::size_t axis = read_axis(node, shape.size());
  const NumberType type = quantised_type(node);
  const auto [low, high] = *limits(type);
  if (const Constant& scales = node.constant(1); !scales.integers())
    if (std::ranges::find(scales.floats(), 0.F) != scales.floats().end()) node.fail_input(1, "a scale is 0");
  ValueId y = combined(node, Both::divide, node.value(0), per_axis(node, 1, shape, axis));
  y = node.add(Activation{.kind = Activation::Kind::round}, {y});
  if (node.has_input(2)) y = combined(node, Both::add, y, per_axis(node, 2, shape, axis));
  y = node.add(Activation{.kind = Activation::Kind::clip, .low = low, .high = high}, {y});
  node.graph().mark_whole(y, type);
  node.set_output(y);
}

void read_dequantize_linear(NodeReader& node) {
  const bool constant = node.is_constant(0);
  if (!constant && !node.is_whole(0)) node.fail_input(0, "it has no integers");
  const Shape shape = constant ? node.constant(0).shape : node.shape(0);
  const std::size_t axis = read_axis(node, shape.size());
  ValueId y = constant ? as_floats(node, 0) : node.any_value(0);
  if (node.has_input(2)) {
    require_type_of_zero_point(node);
    y = combined(node, Both::subtract, y, per_axis(node, 2, shape, axis));
  }
  node.set_output(combined(node, Both::multiply, y, per_axis(node, 1, shape, axis)));
}

}  // namespace spdnn::onnx_reader
