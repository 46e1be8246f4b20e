// Functions of each element, of two values, and over an axis.

#include <array>

#include "engines/cpu/plain/kernels.hpp"
#include "engines/cpu/plain/loops.hpp"
#include "model/operations/geometry.hpp"
#include "program/epilogue.hpp"

namespace spdnn::plain {

namespace {

/// N, C, H, W of images and sequences.
Shape image_axes(const Shape& shape) {
  if (shape.size() != 3 && shape.size() != 4) return {};
  const ImageExtents image = image_extents(shape);
  return {image.images, image.channels, image.height, image.width};
}

}  // namespace

std::vector<Offer> activation(const Request& request, const Activation& function) {
  const Layout layout = simple_layout(request.inputs[0]);
  const Shape shape = program::shape_in_memory(layout.order, request.inputs[0].shape);
  const bool innermost = layout.order == Order::nhwc;
  return only(pass(request, {layout}, layout, [=, &function](const Operands& at) {
    activate(function, shape, innermost, at.floats(0), at.results());
  }));
}

std::vector<Offer> batch_norm(const Request& request, const BatchNorm& norm) {
  const Layout layout = simple_layout(request.inputs[0]);
  const Shape shape = program::shape_in_memory(layout.order, request.inputs[0].shape);
  const bool innermost = layout.order == Order::nhwc;
  return only(pass(request, {layout}, layout, [=, &norm](const Operands& at) {
    apply_batch_norm(norm, shape, innermost, at.floats(0), at.results());
  }));
}

/// Two values of one shape in one layout, or any two in `rows`.
std::vector<Offer> elementwise(const Request& request, const Elementwise& both) {
  std::array<Shape, 3> shapes{request.inputs[0].shape, request.inputs[1].shape, request.output_shape()};
  const bool alike = shapes[0] == shapes[2] && shapes[1] == shapes[2];
  const bool one_number = shapes[0] == shapes[2] && elements(shapes[1]) == 1;
  const Layout layout = alike || one_number ? simple_layout(request.inputs[0]) : kRows;
  if (alike)
    shapes.fill({static_cast<Extent>(elements(shapes[2]).value())});
  else if (one_number)
    shapes = {Shape{static_cast<Extent>(elements(shapes[2]).value())}, Shape{1}, Shape{}};
  if (one_number && !alike) shapes[2] = shapes[0];
  return only(pass(request, {layout, alike ? layout : kRows}, layout, [=, kind = both.kind](const Operands& at) {
    plain::elementwise(kind, shapes, at.floats(0), at.floats(1), at.results());
  }));
}

/// One number for each image and channel, as squeeze-and-excite has it, on images in the layout in which they were
/// made.
std::vector<Offer> channel_factors(const Request& request, const Elementwise& both) {
  const Shape to = image_axes(request.output_shape());
  const Shape factors = image_axes(request.inputs[1].shape);
  // Fewer axes would be those of the end: numbers of rows instead of channels.
  if (request.inputs[1].shape.size() != request.output_shape().size()) return {};
  if (to.empty() || factors.empty() || image_axes(request.inputs[0].shape) != to) return {};
  if (factors[1] != to[1] || factors[2] * factors[3] != 1 || to[2] * to[3] == 1) return {};
  const Layout layout = request.inputs[0].layouts.front();
  if (layout.type != ElementType::fp32) return {{.why_not = "fp32 alone"}};
  const Extent together = program::channels_together(layout.order, request.output_shape());
  const Channels channels{to[0], to[1], to[2] * to[3], together, factors[0] > 1};
  return only(pass(request, {layout, kRows}, layout, [=, kind = both.kind](const Operands& at) {
    with_channels(kind, channels, at.floats(0), at.floats(1), at.results());
  }));
}

std::vector<Offer> softmax(const Request& request, const Softmax& softmax) {
  const Shape shape = request.inputs[0].shape;
  return only(pass(request, {kRows}, kRows, [=, axis = softmax.axis](const Operands& at) {
    plain::softmax(shape, axis, at.floats(0), at.results());
  }));
}

}  // namespace spdnn::plain
