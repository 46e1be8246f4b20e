#pragma once

// Constant folding: chains such as Shape, Gather, Concat, which exporters generate as the shape of a Reshape, and
// weights that the file transposes or slices. Callers have checked axes and have taken the result's bytes from the
// budget.

#include <optional>
#include <span>

#include "io/models/onnx/read/constant.hpp"
#include "spdnn/model.hpp"

namespace spdnn::onnx_reader {

/// Gathers elements at these positions of an axis.
Constant taken(const Constant& from, std::size_t axis, std::span<const std::int64_t> positions);
/// Concatenates parts of one type along an axis; their other axes are equal.
Constant joined(std::span<const Constant* const> parts, std::size_t axis);
/// Transposes: axis i of the result is axis order[i] of `from`.
Constant transposed(const Constant& from, std::span<const Index> order);

/// NumPy's broadcast shape of two shapes, or empty if they are incompatible.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// Combines two constants of one type element by element. Empty if integers overflow or are divided by 0, or if the
/// batch size is used in arithmetic.
std::optional<Constant> combined(Elementwise::Kind kind, const Constant& a, const Constant& b, const Shape& shape);

enum class Relation { equal, greater, less };
/// 1 where the relation holds between two constants of one type, and 0 elsewhere. Empty if that depends on the batch
/// size, which is at least 1.
std::optional<Constant> related(Relation relation, const Constant& a, const Constant& b, const Shape& shape);

}  // namespace spdnn::onnx_reader
