// Constant, operators on shapes, and parts of constants and of values: ConstantOfShape, Range, Shape, Gather, Slice,
// Split.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "io/models/onnx/read/fold.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"
#include "io/models/parts.hpp"

namespace spdnn::onnx_reader {

namespace {

Constant of_floats(std::vector<float> numbers, bool scalar) {
  const Shape shape = scalar ? Shape{} : Shape{static_cast<Extent>(numbers.size())};
  return {shape, Array<float>(std::move(numbers))};
}

Constant of_integers(std::vector<std::int64_t> numbers, bool scalar) {
  const Shape shape = scalar ? Shape{} : Shape{static_cast<Extent>(numbers.size())};
  return {shape, Array<std::int64_t>(std::move(numbers))};
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

/// An axis that is cut into parts must not be a batch of open length.
void require_fixed(NodeReader& node, const Shape& shape, std::size_t axis) {
  if (shape[axis] == kBatchExtent)
    node.fail_input(0, "the batch axis has no fixed size, so no part of it can be taken; give it one");
}

/// The part of a value.
ValueId sliced(NodeReader& node) {
  ValueId value = node.value(0);
  for (const Cut& cut : read_cuts(node, node.shape(0).size())) {
    const Shape shape = node.graph().shape(value);
    // All of the batch is no part of it.
    if (shape[cut.axis] == kBatchExtent && cut.start == 0 && cut.step == 1 && cut.end >= kMaxIndex) continue;
    require_fixed(node, shape, cut.axis);
    const Extent length = shape[cut.axis];
    if (cut.step < 0) {
      node.graph().budget().take(static_cast<std::size_t>(length) * sizeof(Node));
      const std::vector<std::int64_t> places = positions(cut, length);
      if (places.empty()) node.fail(fmt::format("nothing is left of axis {} of {}", cut.axis, shape_text(shape)));
      value = picked(node, value, cut.axis, places);
      continue;
    }
    const auto within = [&](std::int64_t place) {
      return std::clamp(place < 0 ? place + length : place, std::int64_t{0}, length);
    };
    const Extent first = within(cut.start);
    const Extent room = within(cut.end) - first;
    if (room < 1) node.fail(fmt::format("nothing is left of axis {} of {}", cut.axis, shape_text(shape)));
    value = stepped(node, value, cut.axis, first, cut.step, (room - 1) / cut.step + 1);
  }
  return value;
}

/// The lengths of the parts: an attribute before set 13, an input since, or as equal as can be. As many as outputs.
Numbers split_lengths(NodeReader& node, Extent length) {
  std::optional<Numbers> given;
  if (node.opset() < 13) {
    if (node.inputs() > 1) node.fail("the lengths are an attribute before operator set 13");
    given = node.integers("split");
  } else if (node.has_input(1)) {
    const std::span<const std::int64_t> numbers = node.ints(1);
    given = Numbers(numbers.begin(), numbers.end());
  }
  const auto count = static_cast<std::int64_t>(node.outputs());
  if (node.opset() >= 18 && node.integer("num_outputs", count) != count)
    node.fail_attribute("num_outputs", fmt::format("it is not the number of outputs, {}", count));
  if (!given) {
    const std::int64_t part = (length + count - 1) / count;
    if (length < count || (node.opset() < 18 && length % count != 0) || part * (count - 1) >= length)
      node.fail(fmt::format("an axis of length {} cannot be split into {} parts", length, count));
    given = Numbers(static_cast<std::size_t>(count), part);
    given->back() = length - part * (count - 1);
  }
  std::int64_t left = length;
  for (const std::int64_t one : *given) {
    if (one < 1 || one > left) node.fail(fmt::format("a part of length {}, but {} of {} are left", one, left, length));
    left -= one;
  }
  if (left != 0 || static_cast<std::int64_t>(given->size()) != count)
    node.fail(
        fmt::format("{} parts with {} of {} elements for {} outputs", given->size(), length - left, length, count));
  return *given;
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
  const Constant* const constant = node.constant_or_null(0);
  const Shape of = constant != nullptr ? constant->shape : node.shape(0);
  const std::size_t axis = node.axis("attribute axis", node.integer("axis", 0), of.size());
  require_fixed(node, of, axis);
  const std::span<const std::int64_t> indices = node.ints(1);
  const Shape& lay = node.constant(1).shape;
  const Extent length = of[axis];
  Numbers places;
  for (const std::int64_t index : indices) {
    if (index < -length || index >= length)
      node.fail_input(1, fmt::format("index {} of an axis of length {}", index, length));
    places.push_back(index < 0 ? index + length : index);
  }
  Shape shape = of;
  const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(at, lay.begin(), lay.end());
  if (shape.size() > kMostAxes) node.fail(fmt::format("{} axes are more than {}", shape.size(), kMostAxes));
  if (constant == nullptr) {
    if (places.empty()) node.fail_input(1, "no elements are gathered");
    node.graph().budget().take(places.size() * sizeof(Node));
    return node.set_output(reshaped(node, picked(node, node.value(0), axis, places), shape));
  }
  const std::size_t row = length == 0 ? 0 : constant->bytes() / static_cast<std::size_t>(length);
  if (row != 0 && places.size() > std::numeric_limits<std::size_t>::max() / row) node.fail("the result is too large");
  node.graph().budget().take(places.size() * (row + sizeof(std::int64_t)));
  node.set_output(Constant{shape, taken(*constant, axis, places).values});
}

void read_slice(NodeReader& node) {
  if (node.opset() < 10 && node.inputs() > 1) node.fail("starts and ends are attributes before operator set 10");
  const Constant* const constant = node.constant_or_null(0);
  if (constant == nullptr) return node.set_output(sliced(node));
  Constant result = *constant;
  for (const Cut& cut : read_cuts(node, result.shape.size())) {
    node.graph().budget().take(2 * result.bytes() + sizeof(std::int64_t));  // the positions, and the elements there
    const std::vector<std::int64_t> places = positions(cut, result.shape[cut.axis]);
    result = taken(result, cut.axis, places);
  }
  node.set_output(std::move(result));
}

void read_split(NodeReader& node) {
  const Shape shape = node.constant_or_null(0) != nullptr ? node.constant(0).shape : node.shape(0);
  const std::size_t axis = node.axis("attribute axis", node.integer("axis", 0), shape.size());
  require_fixed(node, shape, axis);
  const Numbers lengths = split_lengths(node, shape[axis]);
  Extent begin = 0;
  for (std::size_t i = 0; i < lengths.size(); begin += lengths[i++]) {
    if (!node.has_output(i)) continue;
    if (node.constant_or_null(0) != nullptr) {
      node.graph().budget().take(node.constant(0).bytes() +
                                 static_cast<std::size_t>(lengths[i]) * sizeof(std::int64_t));
      Numbers places(static_cast<std::size_t>(lengths[i]));
      std::iota(places.begin(), places.end(), begin);
      node.set_output(taken(node.constant(0), axis, places), i);
    } else {
      node.set_output(cropped(node, node.value(0), axis, begin, begin + lengths[i]), i);
    }
  }
}

void read_range(NodeReader& node) {
  const bool whole = node.constant(0).integers();
  double numbers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const Constant& one = node.constant(i);
    if (one.size() != 1 || one.integers() != whole) node.fail_input(i, "expected one number, of the type of the first");
    numbers[i] = whole ? static_cast<double>(node.ints(i)[0]) : double{node.floats(i)[0]};
  }
  const auto [start, limit, delta] = std::tuple(numbers[0], numbers[1], numbers[2]);
  if (delta == 0) node.fail_input(2, "a step of 0");
  const double steps = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(steps <= double{kMaxIndex})) node.fail(fmt::format("{} numbers are too many", steps));
  const auto count = static_cast<std::size_t>(steps);
  node.graph().budget().take(count * sizeof(std::int64_t));
  std::vector<float> floats;
  Numbers integers;
  for (std::size_t i = 0; i < count; ++i) {
    if (whole)
      integers.push_back(node.ints(0)[0] + static_cast<std::int64_t>(i) * node.ints(2)[0]);
    else
      floats.push_back(static_cast<float>(start + static_cast<double>(i) * delta));
  }
  node.set_output(whole ? of_integers(std::move(integers), false) : of_floats(std::move(floats), false));
}

void read_constant_of_shape(NodeReader& node) {
  const Constant& lengths = node.constant(0);
  if (!lengths.integers() || lengths.shape.size() != 1) node.fail_input(0, "expected a list of integers");
  const std::span<const std::int64_t> extents = node.ints(0);
  const Shape shape(extents.begin(), extents.end());
  if (shape.size() > kMostAxes) node.fail(fmt::format("{} axes are more than {}", shape.size(), kMostAxes));
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent < 0; }))
    node.fail_input(0, fmt::format("{}: an axis of negative length", shape_text(shape)));
  const std::optional<Offset> count = elements(shape);
  if (!count || *count > std::numeric_limits<std::size_t>::max() / sizeof(std::int64_t))
    node.fail_input(0, fmt::format("{} elements exceed the address space", shape_text(shape)));
  node.graph().budget().take(*count * sizeof(std::int64_t));
  Constant value = of_floats({0}, true);
  if (const auto* given = node.tensor("value"))
    value = node.graph().tensors().read(given->t(), node.where() + ": attribute value");
  if (value.size() != 1) node.fail_attribute("value", fmt::format("{} numbers, expected one", value.size()));
  if (value.integers()) return node.set_output(Constant{shape, Array<std::int64_t>(Numbers(*count, value.ints()[0]))});
  node.set_output(Constant{shape, Array<float>(std::vector<float>(*count, value.floats()[0]))});
}

}  // namespace spdnn::onnx_reader
