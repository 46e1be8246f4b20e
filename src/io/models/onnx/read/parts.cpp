#include "io/models/onnx/read/parts.hpp"

#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

ValueId cropped(NodeReader& node, ValueId value, std::size_t axis, Extent begin, Extent end) {
  const Shape& shape = node.graph().shape(value);
  if (begin == 0 && end == shape[axis]) return value;
  Pad pad{Shape(shape.size()), Shape(shape.size()), 0};
  pad.begin[axis] = -begin;
  pad.end[axis] = end - shape[axis];
  return node.add(std::move(pad), {value});
}

/// Rows of `step` elements begin with those that are taken; zeros fill the last row.
ValueId stepped(NodeReader& node, ValueId value, std::size_t axis, Extent first, Extent step, Extent count) {
  if (step == 1 || count == 1) return cropped(node, value, axis, first, first + (count - 1) * step + 1);
  const ValueId rows = cropped(node, value, axis, first, first + count * step);
  Shape shape = node.graph().shape(rows);
  shape[axis] = count;
  Shape apart = shape;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, step);
  return reshaped(node, cropped(node, reshaped(node, rows, apart), axis + 1, 0, 1), shape);
}

/// Neighbours are one part.
ValueId picked(NodeReader& node, ValueId value, std::size_t axis, std::span<const std::int64_t> positions) {
  std::vector<ValueId> parts;
  for (std::size_t from = 0, to = 0; from < positions.size(); from = to) {
    for (to = from + 1; to < positions.size() && positions[to] == positions[to - 1] + 1;) ++to;
    parts.push_back(cropped(node, value, axis, positions[from], positions[to - 1] + 1));
  }
  return parts.size() == 1 ? parts[0] : node.add(Concat{static_cast<Index>(axis)}, parts);
}

ValueId repeated(NodeReader& node, ValueId value, std::size_t axis, std::int64_t times) {
  if (times == 1) return value;
  const auto count = static_cast<std::size_t>(times);
  node.graph().budget().take(count * sizeof(ValueId));
  return node.add(Concat{static_cast<Index>(axis)}, std::vector<ValueId>(count, value));
}

}  // namespace spdnn::onnx_reader
