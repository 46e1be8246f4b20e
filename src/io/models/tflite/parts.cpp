// Operators that take parts of a value, or change its axes: SLICE, STRIDED_SLICE, SPLIT, SQUEEZE, EXPAND_DIMS and
// MIRROR_PAD.

#include "io/models/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/models/tflite/operators.hpp"

namespace spdnn::tflite_reader {

namespace {

using Lengths = std::vector<std::int64_t>;

/// The shape with the file's order of axes.
Shape shape_in_file(const Shape& shape) {
  if (shape.size() != kImageAxes) return shape;
  return {shape[0], shape[2], shape[3], shape[1]};
}

Lengths per_axis(OperatorReader& op, std::size_t input, std::size_t rank) {
  Lengths numbers = op.integers(input);
  if (numbers.size() != rank) op.fail_input(input, fmt::format("{} numbers for {} axes", numbers.size(), rank));
  return numbers;
}

std::size_t checked_axis(OperatorReader& op, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) op.fail(fmt::format("axis {} is outside the {} axes", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

/// The elements first, first + step, ... below end of an axis of the file.
ValueId part(OperatorReader& op, ValueId value, std::size_t axis, Extent first, Extent end, Extent step) {
  const Index at = axis_of_value(axis, op.shape(value).size());
  const Extent length = op.shape(value)[at];
  if (length == kBatchExtent) {
    if (first == 0 && step == 1) return value;  // callers leave the end of an open batch as it is
    op.fail("a part of the batch, which has no fixed size; give it one");
  }
  if (first < 0 || first >= end || end > length)
    op.fail(fmt::format("the elements {} to {} of axis {} with {}", first, end, axis, length));
  return stepped(op, value, at, first, step, (end - first - 1) / step + 1);
}

/// One axis of a strided slice: where it begins and ends, by the rules of NumPy.
struct Stride {
  std::int64_t begin, end, step;
  bool from_start, to_end, single;
};
ValueId strided(OperatorReader& op, ValueId value, std::size_t axis, const Stride& stride) {
  const Extent length = op.shape(value)[axis_of_value(axis, op.shape(value).size())];
  if (stride.step < 1) op.fail_input(3, fmt::format("a step of {} is not supported, only positive ones", stride.step));
  const auto within = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place < 0 ? place + length : place, 0, length);
  };
  if (length == kBatchExtent)
    return part(op, value, axis, stride.from_start ? 0 : stride.begin, 0, stride.to_end ? stride.step : 0);
  const Extent first = stride.from_start ? 0 : within(stride.begin);
  if (stride.single) return part(op, value, axis, first, first + 1, 1);
  return part(op, value, axis, first, stride.to_end ? length : within(stride.end), stride.step);
}

}  // namespace

void read_slice(OperatorReader& op) {
  ValueId value = op.value(0);
  const std::size_t rank = op.shape(value).size();
  const Lengths begin = per_axis(op, 1, rank);
  const Lengths size = per_axis(op, 2, rank);
  const Shape shape = shape_in_file(op.shape(value));
  for (std::size_t axis = 0; axis < rank; ++axis)
    value = part(op, value, axis, begin[axis], size[axis] == -1 ? shape[axis] : begin[axis] + size[axis], 1);
  op.set_output(value);
}

void read_strided_slice(OperatorReader& op) {
  const auto& options = op.needed<tflite::StridedSliceOptions>();
  if (options.ellipsis_mask() != 0 || options.new_axis_mask() != 0 || options.offset())
    op.fail("ellipsis_mask, new_axis_mask and offset are not supported");
  ValueId value = op.value(0);
  const Lengths begin = op.integers(1);
  const std::size_t given = begin.size();
  const Lengths end = per_axis(op, 2, given);
  const Lengths steps = per_axis(op, 3, given);
  const Shape shape = shape_in_file(op.shape(value));
  if (given > shape.size()) op.fail_input(1, fmt::format("{} numbers for {} axes", given, shape.size()));
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto has = [&](std::int32_t mask) { return (static_cast<std::uint32_t>(mask) >> axis & 1U) != 0; };
    const bool single = axis < given && has(options.shrink_axis_mask());
    if (axis < given)
      value =
          strided(op, value, axis,
                  {begin[axis], end[axis], steps[axis], has(options.begin_mask()), has(options.end_mask()), single});
    if (!single) left.push_back(shape_in_file(op.shape(value))[axis]);
  }
  op.set_output(left.size() == shape.size() ? value : op.in_file_order(value, left));
}

void read_split(OperatorReader& op) {
  const Lengths given = op.integers(0);
  if (given.size() != 1) op.fail_input(0, "expected one axis");
  const ValueId x = op.value(1);
  const std::size_t axis = checked_axis(op, given[0], op.shape(x).size());
  const Extent length = shape_in_file(op.shape(x))[axis];
  const auto count = static_cast<Extent>(op.outputs());
  if (length % count != 0) op.fail(fmt::format("{} elements of axis {} for {} outputs", length, axis, count));
  for (Extent i = 0; i < count; ++i)
    op.set_output(part(op, x, axis, i * (length / count), (i + 1) * (length / count), 1), tflite::FusedActivation::NONE,
                  static_cast<std::size_t>(i));
}

void read_squeeze(OperatorReader& op) {
  const auto* options = op.options<tflite::SqueezeOptions>();
  const ValueId x = op.value(0);
  const Shape shape = shape_in_file(op.shape(x));
  std::vector<bool> gone(shape.size());
  const bool all = options == nullptr || options->squeeze_dims() == nullptr || options->squeeze_dims()->size() == 0;
  if (all)
    for (std::size_t axis = 0; axis < shape.size(); ++axis) gone[axis] = shape[axis] == 1;
  else
    for (const std::int32_t axis : *options->squeeze_dims()) gone[checked_axis(op, axis, shape.size())] = true;
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (gone[axis] && shape[axis] != 1)
      op.fail(fmt::format("axis {} has the length {}, expected 1", axis, shape[axis]));
    if (!gone[axis]) left.push_back(shape[axis]);
  }
  op.set_output(op.in_file_order(x, left));
}

void read_expand_dims(OperatorReader& op) {
  const Lengths given = op.integers(1);
  if (given.size() != 1) op.fail_input(1, "expected one axis");
  const ValueId x = op.value(0);
  Shape shape = shape_in_file(op.shape(x));
  const std::size_t axis = checked_axis(op, given[0], shape.size() + 1);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  if (shape.size() > kMostAxes) op.fail(fmt::format("{} axes are more than {}", shape.size(), kMostAxes));
  if (std::count(shape.begin(), shape.end(), kBatchExtent) > 0 && shape[0] != kBatchExtent)
    op.fail("the batch becomes axis 1; give it a fixed size");
  op.set_output(op.in_file_order(x, shape));
}

void read_mirror_pad(OperatorReader& op) {
  const auto mode = op.needed<tflite::MirrorPadOptions>().mode();
  const Border border = mode == tflite::MirrorPadMode::REFLECT ? Border::reflect : Border::symmetric;
  ValueId value = op.value(0);
  const std::size_t rank = op.shape(value).size();
  const Lengths pads = per_axis(op, 1, 2 * rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto [begin, end] = std::pair(pads[2 * axis], pads[2 * axis + 1]);
    if (begin == 0 && end == 0) continue;
    const Index at = axis_of_value(axis, rank);
    const Extent length = op.shape(value)[at];
    if (begin < 0 || end < 0 || length == kBatchExtent || std::max(begin, end) > widest(border, length))
      op.fail_input(1, fmt::format("padding of {} and {} around {} elements", begin, end, length));
    op.graph().budget().take(static_cast<std::size_t>(begin + end + 1) * sizeof(Node));
    value = picked(op, value, at, bordered(border, length, begin, end));
  }
  op.set_output(value);
}

}  // namespace spdnn::tflite_reader
