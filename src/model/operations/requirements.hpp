#pragma once

#include <string>
#include <vector>

#include "spdnn/model.hpp"

// Requirements shared by several operations. kBatchExtent occurs on axis 0 only, and passes through every operation
// that processes images independently; others are refused.
namespace spdnn::rules {

/// UsageError: the operation does not take its inputs.
[[noreturn]] void refuse(const std::string& problem);
/// std::invalid_argument: the operation does not fit together.
[[noreturn]] void invalid(const std::string& problem);

inline bool has_batch(const Shape& shape) { return !shape.empty() && shape[0] == kBatchExtent; }

void require_inputs(const std::vector<Shape>& inputs, std::size_t count);
/// The shape of the one input.
const Shape& only(const std::vector<Shape>& inputs);
/// The same, if it is one of images N, C, H, W or sequences N, C, W.
const Shape& only_images(const std::vector<Shape>& inputs);
std::size_t checked_axis(Index axis, const Shape& shape);

void require_window(const Window& window, const Shape& shape);
/// The extent of H (0) or W (1) that windows make of an input's.
Extent output_extent(const Window& window, std::size_t axis, const Shape& shape, bool round_up = false);

/// Shapes have a length that can be computed with, and a batch on axis 0 alone.
void require_shape(const Shape& shape);

void require_finite(const std::vector<float>& values, const char* what);

}  // namespace spdnn::rules
