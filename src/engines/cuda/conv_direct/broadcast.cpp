#include "engines/cuda/conv_direct/functions.hpp"

namespace spdnn::cuda {

std::optional<Broadcast> broadcast_over(const Shape& output, const std::array<OperandShape, 2>& operands, Index inner) {
  const std::size_t outer = output.size() - std::min<std::size_t>(output.size(), inner);  // axes, with that of images
  if (output.size() < 2 || outer < 1 || outer > kMostAxes + 1) return std::nullopt;
  Broadcast broadcast;
  broadcast.axes = static_cast<Index>(outer) - 1;
  for (Index axis = 0; axis < broadcast.axes; ++axis) broadcast.extents[axis] = static_cast<Index>(output[axis + 1]);
  for (Index k = 0; k < 2; ++k) {
    Shape shape = operands[k].shape;
    broadcast.has_images[k] = operands[k].has_images;
    if (!operands[k].has_images) {
      shape.insert(shape.begin(), output.size() - shape.size(), 1);
      if (shape.front() != 1) return std::nullopt;
    }
    std::size_t step = 1;
    for (std::size_t axis = shape.size() - 1; axis > 0; --axis) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      if (axis < outer) broadcast.steps[k][axis - 1] = extent == 1 ? 0 : static_cast<Index>(step);
      step *= extent;
    }
    broadcast.elements[k] = step;
  }
  return broadcast;
}

}  // namespace spdnn::cuda
