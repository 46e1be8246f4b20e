#include "program/layout.hpp"

#include <algorithm>

#include "model/operations/geometry.hpp"

namespace spdnn::program {

const Layout& source_of_change(const std::vector<Layout>& layouts, const Layout& wanted) {
  const auto near =
      std::find_if(layouts.begin(), layouts.end(), [&](const Layout& layout) { return layout.place == wanted.place; });
  return near == layouts.end() ? layouts.front() : *near;
}

bool fits(Order order, const Shape& shape) {
  if (images_together(order) > 1) return !shape.empty();
  return order == Order::rows || shape.size() == 3 || shape.size() == 4;
}

Extent channels_together(Order order, const Shape& shape) {
  switch (order) {
    case Order::rows:
    case Order::images32:
    case Order::images64:
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
  if (const Extent together = images_together(layout.order); together > 1) {
    Shape filled = shape;
    filled.front() = (shape.front() + together - 1) / together * together;
    return elements(filled).value();
  }
  if (layout.order != Order::nchw8c && layout.order != Order::nchw16c) return elements(shape).value();
  const ImageExtents image = image_extents(shape);
  const Extent together = channels_together(layout.order, shape);
  const Extent channels = (image.channels + together - 1) / together * together;
  return elements({image.images, channels, image.height, image.width}).value();
}

std::size_t bytes_of(const Layout& layout, const Shape& shape) {
  constexpr std::size_t kBytes[] = {4, 2, 2, 1, 1};
  return elements_of(layout, shape) * kBytes[static_cast<std::size_t>(layout.type)];
}

std::size_t place_of(Order order, const Shape& shape, Extent image, Extent channel, Extent row, Extent column) {
  const ImageExtents of = image_extents(shape);
  const auto at = [](Extent a, Extent extent, Extent b) { return a * extent + b; };
  const Extent pixel = at(row, of.width, column);
  switch (order) {
    case Order::rows:
      return at(at(image, of.channels, channel), of.pixels(), pixel);
    case Order::nhwc:
      return at(at(image, of.pixels(), pixel), of.channels, channel);
    case Order::images32:
    case Order::images64: {
      const Extent together = images_together(order);
      return at(at(at(image / together, of.channels, channel), of.pixels(), pixel), together, image % together);
    }
    case Order::nchw8c:
    case Order::nchw16c: {
      const Extent together = channels_together(order, shape);
      const Extent blocks = (of.channels + together - 1) / together;
      return at(at(at(image, blocks, channel / together), of.pixels(), pixel), together, channel % together);
    }
  }
  return 0;
}

Shape shape_in_memory(Order order, const Shape& shape) {
  if (order != Order::nhwc) return shape;
  const ImageExtents image = image_extents(shape);
  return {image.images, image.height, image.width, image.channels};
}

Layout layout_of_view(const Layout& made, const Shape& from, const Shape& to) {
  const bool same_images = !from.empty() && !to.empty() && from.front() == to.front();
  return {on_device(made) && same_images ? made.order : Order::rows, made.type, same_images ? made.place : Place::host};
}

std::string text(const Layout& layout) {
  constexpr const char* kNames[] = {"rows", "nhwc", "nchw8c", "nchw16c", "images32", "images64"};
  constexpr const char* kTypes[] = {"", " bf16", " fp16", " u8", " s8"};
  const bool states_place = on_device(layout) && images_together(layout.order) == 1;
  return (states_place ? "device " : "") + std::string(kNames[static_cast<std::size_t>(layout.order)]) +
         kTypes[static_cast<std::size_t>(layout.type)];
}

}  // namespace spdnn::program
