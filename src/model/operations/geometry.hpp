#pragma once

#include <optional>

#include "spdnn/model.hpp"

namespace spdnn {

/// The extents of images as a window sees them: a sequence N, C, W has H = 1.
struct ImageExtents {
  Extent images = 0;
  Extent channels = 0;
  Extent height = 1;
  Extent width = 0;

  Extent spatial(std::size_t axis) const { return axis == 0 ? height : width; }
  Extent pixels() const { return height * width; }
};

/// Of a shape with three or four axes: N, C, W or N, C, H, W.
ImageExtents image_extents(const Shape& shape);
/// The shape of such images with other channels, H and W; as many axes as `like` has.
Shape with_image_extents(const Shape& like, Extent channels, Extent height, Extent width);

/// A convolution of images of given extents.
struct ConvolutionShape {
  ImageExtents in;
  ImageExtents out;
  Index groups = 1;
  Window window{};

  Extent channels() const { return in.channels / groups; }  ///< of a group
  Extent filters() const { return out.channels / groups; }  ///< likewise
  Extent taps() const { return Extent{window.kernel[0]} * window.kernel[1]; }
  bool depthwise() const { return groups > 1 && channels() == 1 && filters() == 1; }
};

/// Windows over planes by axis, as kernels take them: 0 is H, 1 is W.
struct WindowAxes {
  Index in[2]{};
  Index out[2]{};
  Index kernel[2]{};
  Index stride[2]{};
  Index dilation[2]{};
  Index pad[2]{};  ///< at the beginning
};
WindowAxes window_axes(const ImageExtents& in, const ImageExtents& out, const Window& window);

/// The number of windows along axis H (0) or W (1) of that length; empty if none fits. Rounding up adds no window that
/// would begin beyond the image.
std::optional<Extent> window_count(const Window& window, std::size_t axis, Extent length, bool round_up = false);

/// Where tap `tap` of window `number` lies along an axis; negative, or not below the axis's length, in the padding.
inline Extent tap_position(const Window& window, std::size_t axis, Extent number, Extent tap) {
  return number * Extent{window.stride[axis]} + tap * Extent{window.dilation[axis]} - Extent{window.pad_begin[axis]};
}
/// Of the rows of taps of all windows, the share that lies in the image; the others meet padding.
double share_of_rows_inside(const ConvolutionShape& shape);

/// Which place of an axis of length `input` an element of the output is taken from, before it is rounded (nearest) or
/// moved into the axis (linear). In fp32 like onnxruntime, since floor() of a quotient that should be whole depends on
/// it: every engine takes its places from here.
float resize_place(const Resize& resize, std::size_t axis, Extent input, Extent output_element);
/// The element of the input that an element of the output copies (nearest).
Extent nearest_element(const Resize& resize, std::size_t axis, Extent input, Extent output_element);
/// The two elements of the input that an element of the output lies between (linear), and the weight of the second.
struct Between {
  Extent first = 0;
  Extent second = 0;
  float weight = 0;  ///< of the second; 1 - weight is that of the first
};
Between between_elements(const Resize& resize, std::size_t axis, Extent input, Extent output_element);

}  // namespace spdnn
