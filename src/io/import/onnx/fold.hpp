#pragma once

// What is computed of constants when a file is read: chains such as Shape, Gather, Concat, of which exporters make the
// shape for a Reshape, and weights that the file has transposed or cut out of others. Callers have checked axes and
// have taken the result's bytes from the budget.

#include <optional>
#include <span>
#include <vector>

#include "io/import/onnx/constant.hpp"
#include "spdnn/model.hpp"

namespace spdnn::onnx_reader {

/// The elements at these positions of an axis.
Constant taken(const Constant& from, std::size_t axis, std::span<const std::int64_t> positions);
/// The parts one after the other along an axis; all are of one type, and have the same other axes.
Constant joined(std::span<const Constant* const> parts, std::size_t axis);
/// Axis i of the result is axis order[i] of `from`.
Constant transposed(const Constant& from, std::span<const Index> order);

/// NumPy's broadcast shape of two, or nothing where there is none.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// Two constants of one type, element by element. Nothing where integers overflow or are divided by 0, or where the
/// number of images in a batch is not just passed on.
std::optional<Constant> combined(Elementwise::Kind kind, const Constant& a, const Constant& b, const Shape& shape);

}  // namespace spdnn::onnx_reader
