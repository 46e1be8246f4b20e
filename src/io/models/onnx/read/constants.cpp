// Constant, and operators on shapes: Cast, Shape, Gather, Slice.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/models/onnx/read/fold.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

using onnx::TensorProto;

Constant of_floats(std::vector<float> numbers, bool scalar) {
  const Shape shape = scalar ? Shape{} : Shape{static_cast<Extent>(numbers.size())};
  return {shape, Array<float>(std::move(numbers))};
}

Constant of_integers(std::vector<std::int64_t> numbers, bool scalar) {
  const Shape shape = scalar ? Shape{} : Shape{static_cast<Extent>(numbers.size())};
  return {shape, Array<std::int64_t>(std::move(numbers))};
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

/// One axis of a Slice.
struct Cut {
  std::size_t axis = 0;
  std::int64_t start = 0, end = 0, step = 1;
};

/// The positions that a Slice takes from an axis of that length. Ends beyond the axis are clamped to it.
std::vector<std::int64_t> positions(const Cut& cut, std::int64_t length) {
  const bool forward = cut.step > 0;
  const auto within = [&](std::int64_t place) {
    if (place < 0) place += length;
    return forward ? std::clamp(place, std::int64_t{0}, length) : std::clamp(place, std::int64_t{-1}, length - 1);
  };
  const std::int64_t end = within(cut.end);
  std::vector<std::int64_t> found;
  for (std::int64_t at = within(cut.start); forward ? at < end : at > end;) {
    found.push_back(at);
    // Ends the loop before a step would leave the axis, so that the sum cannot overflow.
    if (forward ? cut.step > length : cut.step < -length) break;
    at += cut.step;
  }
  return found;
}

using Numbers = std::vector<std::int64_t>;

std::optional<Numbers> slice_numbers(NodeReader& node, const std::string& attribute, std::size_t input) {
  if (node.opset() < 10) return node.integers(attribute);
  if (!node.has_input(input)) return std::nullopt;
  const std::span<const std::int64_t> numbers = node.ints(input);
  return Numbers(numbers.begin(), numbers.end());
}

std::vector<Cut> read_cuts(NodeReader& node, std::size_t rank) {
  const auto starts = slice_numbers(node, "starts", 1);
  const auto ends = slice_numbers(node, "ends", 2);
  if (!starts || !ends) node.fail("starts or ends are missing");
  Numbers all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const Numbers axes = slice_numbers(node, "axes", 3).value_or(all);
  const auto given_steps = node.opset() < 10 ? std::nullopt : slice_numbers(node, "", 4);
  const Numbers steps = given_steps.value_or(Numbers(starts->size(), 1));
  if (ends->size() != starts->size() || axes.size() != starts->size() || steps.size() != starts->size())
    node.fail("starts, ends, axes and steps have different lengths");
  std::vector<Cut> cuts;
  std::vector<bool> seen(rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Cut cut{node.axis("axes", axes[i], rank), (*starts)[i], (*ends)[i], steps[i]};
    if (seen[cut.axis]) node.fail(fmt::format("axes: axis {} is repeated", axes[i]));
    if (cut.step == 0) node.fail("a step of 0");
    seen[cut.axis] = true;
    cuts.push_back(cut);
  }
  return cuts;
}

}  // namespace

void read_constant(NodeReader& node) {
  if (const auto* value = node.tensor("value"))
    return node.set_output(node.graph().tensors().read(value->t(), node.where() + ": attribute value"));
  if (node.has("value_float")) return node.set_output(of_floats({node.real("value_float", 0)}, true));
  if (const auto numbers = node.reals("value_floats")) return node.set_output(of_floats(*numbers, false));
  if (node.has("value_int")) return node.set_output(of_integers({node.integer("value_int", 0)}, true));
  if (const auto numbers = node.integers("value_ints")) return node.set_output(of_integers(*numbers, false));
  node.finish();
  node.fail("it has none of the attributes value, value_float, value_floats, value_int, value_ints");
}

void read_cast(NodeReader& node) {
  const std::int64_t to = node.integer("to", 0);
  const Constant* constant = node.constant_or_null(0);
  const bool integers = to == TensorProto::INT64 || to == TensorProto::INT32 || to == TensorProto::BOOL;
  if (constant == nullptr && to != TensorProto::FLOAT)
    node.fail_attribute("to",
                        type_name(to) + " is not supported for values that depend on the model's inputs, only FLOAT");
  if (constant != nullptr && !integers && !is_floating(to))
    node.fail_attribute("to", type_name(to) + " is not supported; expected FLOAT, DOUBLE, INT64, INT32 or BOOL");
  if (constant == nullptr) return node.set_output(node.value(0));
  node.set_output(cast(node, *constant, to));
}

void read_shape(NodeReader& node) {
  const Constant* constant = node.constant_or_null(0);
  const Shape shape = constant != nullptr ? constant->shape : node.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto within = [&](std::int64_t place) {
    return std::clamp(place < 0 ? place + rank : place, std::int64_t{0}, rank);
  };
  const std::int64_t start = within(node.opset() < 15 ? 0 : node.integer("start", 0));
  const std::int64_t end = within(node.opset() < 15 ? rank : node.integer("end", rank));
  Numbers extents;
  for (std::int64_t axis = start; axis < end; ++axis) {
    const Extent extent = shape[static_cast<std::size_t>(axis)];
    extents.push_back(extent == kBatchExtent ? kImages : extent);
  }
  node.set_output(of_integers(std::move(extents), false));
}

void read_gather(NodeReader& node) {
  const Constant& from = node.constant(0);
  const std::size_t axis = node.axis("attribute axis", node.integer("axis", 0), from.shape.size());
  const std::span<const std::int64_t> indices = node.ints(1);
  const Shape& lay = node.constant(1).shape;
  const Extent length = from.shape[axis];
  Numbers places;
  for (const std::int64_t index : indices) {
    if (index < -length || index >= length)
      node.fail_input(1, fmt::format("index {} of an axis of length {}", index, length));
    places.push_back(index < 0 ? index + length : index);
  }
  const std::size_t row = length == 0 ? 0 : from.bytes() / static_cast<std::size_t>(length);
  if (row != 0 && places.size() > std::numeric_limits<std::size_t>::max() / row) node.fail("the result is too large");
  node.graph().budget().take(places.size() * (row + sizeof(std::int64_t)));
  Constant result = taken(from, axis, places);
  Shape shape = from.shape;
  const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(at, lay.begin(), lay.end());
  if (shape.size() > kMostAxes) node.fail(fmt::format("{} axes are more than {}", shape.size(), kMostAxes));
  node.set_output(Constant{shape, std::move(result.values)});
}

void read_slice(NodeReader& node) {
  Constant result = node.constant(0);
  if (node.opset() < 10 && node.inputs() > 1) node.fail("starts and ends are attributes before operator set 10");
  for (const Cut& cut : read_cuts(node, result.shape.size())) {
    node.graph().budget().take(2 * result.bytes() + sizeof(std::int64_t));  // the positions, and the elements there
    const std::vector<std::int64_t> places = positions(cut, result.shape[cut.axis]);
    result = taken(result, cut.axis, places);
  }
  node.set_output(std::move(result));
}

}  // namespace spdnn::onnx_reader
