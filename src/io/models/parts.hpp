#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "spdnn/model.hpp"

// Parts of values that depend on the inputs of a model, by operations that copy elements. `Reader` is the reader of one
// operator of a file: it adds nodes by add(operation, inputs) and has the shapes of values in graph(). Callers have
// checked axes, and that the axis is not a batch of open length.
namespace spdnn {

/// The elements begin, begin + 1, ... below end of an axis.
template <class Reader>
ValueId cropped(Reader& reader, ValueId value, std::size_t axis, Extent begin, Extent end) {
  const Shape& shape = reader.graph().shape(value);
  if (begin == 0 && end == shape[axis]) return value;
  Pad pad{Shape(shape.size()), Shape(shape.size()), 0};
  pad.begin[axis] = -begin;
  pad.end[axis] = end - shape[axis];
  return reader.add(std::move(pad), {value});
}

/// `count` elements of an axis: first, first + step, ..., with a positive step. Rows of `step` elements begin with
/// those that are taken; zeros fill the last row.
template <class Reader>
ValueId stepped(Reader& reader, ValueId value, std::size_t axis, Extent first, Extent step, Extent count) {
  if (step == 1 || count == 1) return cropped(reader, value, axis, first, first + (count - 1) * step + 1);
  const ValueId rows = cropped(reader, value, axis, first, first + count * step);
  Shape shape = reader.graph().shape(rows);
  shape[axis] = count;
  Shape apart = shape;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, step);
  const ValueId table = reader.add(Reshape{apart}, {rows});
  return reader.add(Reshape{shape}, {cropped(reader, table, axis + 1, 0, 1)});
}

/// The elements at these positions of an axis, at least one, in their order. Neighbours are one part.
template <class Reader>
ValueId picked(Reader& reader, ValueId value, std::size_t axis, std::span<const std::int64_t> positions) {
  std::vector<ValueId> parts;
  for (std::size_t from = 0, to = 0; from < positions.size(); from = to) {
    for (to = from + 1; to < positions.size() && positions[to] == positions[to - 1] + 1;) ++to;
    parts.push_back(cropped(reader, value, axis, positions[from], positions[to - 1] + 1));
  }
  return parts.size() == 1 ? parts[0] : reader.add(Concat{static_cast<Index>(axis)}, parts);
}

/// Where the elements of a padded axis come from: the element at the end, those before it in reverse, without it
/// (reflect) or with it (symmetric), or those at the other end.
enum class Border { edge, reflect, symmetric, wrap };

/// How many elements a border may have on each side.
inline Extent widest(Border border, Extent length) {
  if (border == Border::edge) return kMaxIndex;
  return border == Border::reflect ? length - 1 : length;
}

/// The positions of the elements of an axis of that length with such a border, no wider than widest(). A negative
/// number of elements is cut off.
inline std::vector<std::int64_t> bordered(Border border, Extent length, Extent begin, Extent end) {
  std::vector<std::int64_t> positions;
  for (Extent at = -begin; at < length + end; ++at) {
    const bool inside = at >= 0 && at < length;
    const Extent mirror = border == Border::reflect ? 0 : 1;
    Extent from = at;
    if (border == Border::edge)
      from = std::clamp<Extent>(at, 0, length - 1);
    else if (border == Border::wrap)
      from = (at + length) % length;
    else if (!inside)
      from = at < 0 ? -at - mirror : 2 * (length - 1) - at + mirror;
    positions.push_back(from);
  }
  return positions;
}

}  // namespace spdnn
