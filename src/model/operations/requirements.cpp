#include "model/operations/requirements.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/text/amounts.hpp"
#include "core/types/all_finite.hpp"
#include "model/operations/geometry.hpp"
#include "spdnn/error.hpp"

namespace spdnn::rules {

void refuse(const std::string& problem) { throw UsageError(problem); }
void invalid(const std::string& problem) { throw std::invalid_argument(problem); }

void require_inputs(const std::vector<Shape>& inputs, std::size_t count) {
  if (inputs.size() != count)
    refuse("takes " + counted(count, "input", "inputs") + ", not " + std::to_string(inputs.size()));
}

const Shape& only(const std::vector<Shape>& inputs) {
  require_inputs(inputs, 1);
  return inputs[0];
}

const Shape& only_images(const std::vector<Shape>& inputs) {
  const Shape& shape = only(inputs);
  if (shape.size() != 3 && shape.size() != 4)
    refuse("takes images N x C x H x W or sequences N x C x W, not " + shape_text(shape));
  return shape;
}

std::size_t checked_axis(Index axis, const Shape& shape) {
  if (axis >= shape.size()) refuse("axis " + std::to_string(axis) + " does not exist in " + shape_text(shape));
  return axis;
}

void require_window(const Window& window, const Shape& shape) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto fits = [](Index value) { return value > 0 && value <= kMaxIndex; };
    if (!fits(window.kernel[axis]) || !fits(window.stride[axis]) || !fits(window.dilation[axis]))
      refuse("kernel, stride and dilation must be in 1 .. 2^31-1");
    if (window.pad_begin[axis] > kMaxIndex || window.pad_end[axis] > kMaxIndex) refuse("padding exceeds 2^31-1");
  }
  if (shape.size() == 3 && (window.kernel[0] != 1 || window.pad_begin[0] != 0 || window.pad_end[0] != 0))
    refuse("a window with height cannot move over sequences: " + shape_text(shape));
}

Extent output_extent(const Window& window, std::size_t axis, const Shape& shape, bool round_up) {
  const auto count = window_count(window, axis, image_extents(shape).spatial(axis), round_up);
  if (!count)
    refuse("a window of " + std::to_string(window.kernel[0]) + " x " + std::to_string(window.kernel[1]) +
           ", dilated by " + std::to_string(window.dilation[0]) + " x " + std::to_string(window.dilation[1]) +
           ", does not fit into " + shape_text(shape) + " with its padding");
  return *count;
}

void require_shape(const Shape& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent < kBatchExtent; }) ||
      std::count(shape.begin(), shape.end(), kBatchExtent) > (has_batch(shape) ? 1 : 0))
    refuse("the batch can be axis 0 alone: " + shape_text(shape));
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent > Extent{kMaxIndex}; }) ||
      !elements(with_batch(shape, 1)))
    refuse("one image is too large: " + shape_text(shape));
}

void require_finite(const std::vector<float>& values, const char* what) {
  if (!all_finite(values)) invalid(std::string(what) + " is not finite");
}

}  // namespace spdnn::rules
