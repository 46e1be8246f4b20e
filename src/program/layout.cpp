#include "program/layout.hpp"

#include "model/operations/geometry.hpp"

namespace spdnn::program {

bool fits(Order order, const Shape& shape) {
  if (order == Order::images32) return !shape.empty();
  return order == Order::rows || shape.size() == 3 || shape.size() == 4;
}

Extent channels_together(Order order, const Shape& shape) {
  switch (order) {
    case Order::rows:
    case Order::images32:
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
  if (layout.order == Order::images32) {
    Shape filled = shape;
    filled.front() = (shape.front() + kImagesTogether - 1) / kImagesTogether * kImagesTogether;
    return elements(filled).value();
  }
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

Layout layout_of_view(const Layout& made, const Shape& from, const Shape& to) {
  const bool same_images = !from.empty() && !to.empty() && from.front() == to.front();
  return {on_device(made) && same_images ? made.order : Order::rows, made.type};
}

std::string text(const Layout& layout) {
  constexpr const char* kNames[] = {"rows", "nhwc", "nchw8c", "nchw16c", "images32"};
  return std::string(kNames[static_cast<std::size_t>(layout.order)]) +
         (layout.type == ElementType::bf16 ? " bf16" : "");
}

}  // namespace spdnn::program
