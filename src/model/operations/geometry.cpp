#include "model/operations/geometry.hpp"

#include <algorithm>
#include <cmath>

namespace spdnn {

ImageExtents image_extents(const Shape& shape) {
  return {shape[0], shape[1], shape.size() == 4 ? shape[2] : 1, shape.back()};
}

Shape with_image_extents(const Shape& like, Extent channels, Extent height, Extent width) {
  if (like.size() == 3) return {like[0], channels, width};
  return {like[0], channels, height, width};
}

WindowAxes window_axes(const ImageExtents& in, const ImageExtents& out, const Window& window) {
  WindowAxes axes;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    axes.in[axis] = static_cast<Index>(in.spatial(axis));
    axes.out[axis] = static_cast<Index>(out.spatial(axis));
    axes.kernel[axis] = window.kernel[axis];
    axes.stride[axis] = window.stride[axis];
    axes.dilation[axis] = window.dilation[axis];
    axes.pad[axis] = window.pad_begin[axis];
  }
  return axes;
}

double share_of_rows_inside(const ConvolutionShape& shape) {
  const Extent taps = shape.window.kernel[0];
  Extent inside = 0;
  for (Extent row = 0; row < shape.out.height; ++row)
    for (Extent tap = 0; tap < taps; ++tap) {
      const Extent from = tap_position(shape.window, 0, row, tap);
      inside += Extent{from >= 0 && from < shape.in.height};
    }
  return static_cast<double>(inside) / static_cast<double>(std::max<Extent>(shape.out.height * taps, 1));
}

std::optional<Extent> window_count(const Window& window, std::size_t axis, Extent length, bool round_up) {
  const Extent stride = window.stride[axis];
  const Extent before = window.pad_begin[axis];
  const Extent reach = Extent{window.dilation[axis]} * (Extent{window.kernel[axis]} - 1) + 1;
  const Extent room = length + before + Extent{window.pad_end[axis]} - reach;
  if (room < 0) return std::nullopt;
  const Extent steps = room / stride;
  const bool another = round_up && room % stride != 0 && (steps + 1) * stride < length + before;
  return steps + (another ? 2 : 1);
}

float resize_place(const Resize& resize, std::size_t axis, Extent input, Extent output_element) {
  const auto element = static_cast<float>(output_element);
  const float scale = resize.scale[axis];
  switch (resize.place) {
    case Resize::Place::half_pixel:
      return (element + 0.5F) / scale - 0.5F;
    case Resize::Place::align_corners:
      if (resize.size[axis] == 1) return 0;
      return element * static_cast<float>(input - 1) / static_cast<float>(resize.size[axis] - 1);
    case Resize::Place::asymmetric:
      break;
  }
  return element / scale;
}

Extent nearest_element(const Resize& resize, std::size_t axis, Extent input, Extent output_element) {
  const float place = resize_place(resize, axis, input, output_element);
  float chosen = 0;
  switch (resize.rounding) {
    case Resize::Rounding::half_down:
      chosen = std::ceil(place - 0.5F);
      break;
    case Resize::Rounding::half_up:
      chosen = std::floor(place + 0.5F);
      break;
    case Resize::Rounding::down:
      chosen = std::floor(place);
      break;
    case Resize::Rounding::up:
      chosen = std::ceil(place);
      break;
  }
  return std::clamp(static_cast<Extent>(chosen), Extent{0}, input - 1);
}

Between between_elements(const Resize& resize, std::size_t axis, Extent input, Extent output_element) {
  const float place = std::clamp(resize_place(resize, axis, input, output_element), 0.F, static_cast<float>(input - 1));
  const auto first = static_cast<Extent>(place);
  return {first, std::min(first + 1, input - 1), place - static_cast<float>(first)};
}

}  // namespace spdnn
