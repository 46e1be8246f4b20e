#pragma once

#include <vector>

#include "spdnn/tensor.hpp"

// Values of which axes of length 1, or missing ones at the front, are repeated (NumPy's broadcasting).
namespace spdnn::rules {

/// The common shape of `a` and `b`. UsageError, with the shapes of the operation's `inputs`, if they do not fit, or if
/// a batch is not axis 0 of both.
Shape broadcast(const Shape& a, const Shape& b, const std::vector<Shape>& inputs);

/// The stride of each axis of `shape` in `part`, which is broadcast to it.
std::vector<std::size_t> repeated_strides(const Shape& part, const Shape& shape);
/// The place of an element of `shape` in an array of these strides.
std::size_t place_of(std::size_t element, const Shape& shape, const std::vector<std::size_t>& strides);

}  // namespace spdnn::rules
