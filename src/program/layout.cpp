#include "program/layout.hpp"

#include "model/operations/geometry.hpp"

namespace spdnn::program {

bool fits(Order order, const Shape& shape) { return order == Order::rows || shape.size() == 3 || shape.size() == 4; }

Extent channels_together(Order order, const Shape& shape) {
  switch (order) {
    case Order::rows:
      return 1;
    case Order::nhwc:
      return image_extents(shape).channels;
    case Order::nchw8c:
      return 8;
    case Order::nchw16c:
      return 16;
  }
  return 1;
}

std::size_t elements_of(const Layout& layout, const Shape& shape) {
  if (layout.order != Order::nchw8c && layout.order != Order::nchw16c) return elements(shape).value();
  const ImageExtents image = image_extents(shape);
  const Extent together = channels_together(layout.order, shape);
  const Extent channels = (image.channels + together - 1) / together * together;
  return elements({image.images, channels, image.height, image.width}).value();
}

std::size_t bytes_of(const Layout& layout, const Shape& shape) {
  return elements_of(layout, shape) * (layout.type == ElementType::bf16 ? 2 : 4);
}

Shape shape_in_memory(Order order, const Shape& shape) {
  if (order != Order::nhwc) return shape;
  const ImageExtents image = image_extents(shape);
  return {image.images, image.height, image.width, image.channels};
}

std::string text(const Layout& layout) {
  constexpr const char* kNames[] = {"rows", "nhwc", "nchw8c", "nchw16c"};
  return std::string(kNames[static_cast<std::size_t>(layout.order)]) +
         (layout.type == ElementType::bf16 ? " bf16" : "");
}

}  // namespace spdnn::program
