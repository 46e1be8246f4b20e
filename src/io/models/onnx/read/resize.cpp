// Resize and its predecessor Upsample.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/models/onnx/read/operators.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::onnx_reader {

namespace {

/// The lengths of H and W for Resize or Upsample; H is missing if there is one spatial axis.
struct Images {
  std::size_t axes;               ///< 1 or 2
  std::array<Extent, 2> lengths;  ///< of the input
};

Images as_images(NodeReader& node) {
  const Shape& shape = node.shape(0);
  if (shape.size() != 3 && shape.size() != 4)
    node.fail_input(0, fmt::format("its shape is {}; expected N x C x W or N x C x H x W", shape_text(shape)));
  return {shape.size() - 2, {shape.size() == 4 ? shape[2] : 1, shape.back()}};
}

void set_length(NodeReader& node, Resize& resize, std::size_t axis, Extent length) {
  if (length < 1 || length > Extent{kMaxIndex})
    node.fail(fmt::format("an output axis has the length {}, expected 1..{}", length, kMaxIndex));
  resize.size[axis] = length;
}

/// Reads factors for all axes, N and C included, whose factor must be 1.
void set_scales(NodeReader& node, Resize& resize, std::span<const float> scales) {
  const Images images = as_images(node);
  if (scales.size() != images.axes + 2)
    node.fail(fmt::format("scales: {} numbers for {} axes", scales.size(), images.axes + 2));
  if (scales[0] != 1 || scales[1] != 1) node.fail("scales: N and C cannot be resized; expected 1");
  for (std::size_t axis = 2 - images.axes; axis < 2; ++axis) {
    const float scale = scales[scales.size() - 2 + axis];
    const float length = static_cast<float>(images.lengths[axis]) * scale;
    if (!(scale > 0 && length <= static_cast<float>(kMaxIndex)))
      node.fail(fmt::format("scales: {} of an axis of length {}", scale, images.lengths[axis]));
    resize.scale[axis] = scale;
    set_length(node, resize, axis, static_cast<Extent>(length));
  }
  if (images.axes == 1) resize.size[0] = 1;
}

/// Reads the lengths of all axes, where kImages and kBatchExtent stand for the batch.
void set_sizes(NodeReader& node, Resize& resize, const std::vector<std::int64_t>& sizes, std::size_t input) {
  const Images images = as_images(node);
  if (sizes.size() != images.axes + 2) node.fail_input(input, fmt::format("expected {} integers", images.axes + 2));
  const Shape& shape = node.shape(0);
  const auto kept = [&](std::size_t axis) {
    const std::int64_t size = sizes[axis];
    return size == shape[axis] || (size == kImages && shape[axis] == kBatchExtent);
  };
  if (!kept(0) || !kept(1)) node.fail_input(input, "N and C cannot be resized");
  for (std::size_t axis = 2 - images.axes; axis < 2; ++axis) {
    set_length(node, resize, axis, sizes[sizes.size() - 2 + axis]);
    resize.scale[axis] = static_cast<float>(resize.size[axis]) / static_cast<float>(images.lengths[axis]);
  }
  if (images.axes == 1) resize.size[0] = 1;
}

void read_kind(NodeReader& node, Resize& resize) {
  const std::string kind = node.text("mode", "nearest");
  if (kind != "nearest" && kind != "linear")
    node.fail_attribute("mode", fmt::format("'{}' is not supported; expected nearest, linear or cubic", kind));
  resize.kind = kind == "nearest" ? Resize::Kind::nearest : Resize::Kind::linear;
}

/// Reads the mapping from output to input coordinates, an attribute from set 11 on.
void read_place(NodeReader& node, Resize& resize) {
  const std::string place = node.text("coordinate_transformation_mode", "half_pixel");
  if (place == "half_pixel" || place == "pytorch_half_pixel") {
    resize.place = Resize::Place::half_pixel;
  } else if (place == "align_corners") {
    resize.place = Resize::Place::align_corners;
  } else if (place == "asymmetric") {
    resize.place = Resize::Place::asymmetric;
  } else {
    node.fail_attribute(
        "coordinate_transformation_mode",
        fmt::format("'{}' is not supported; expected half_pixel, pytorch_half_pixel, align_corners or asymmetric",
                    place));
  }
  const std::string rounding = node.text("nearest_mode", "round_prefer_floor");
  if (rounding == "round_prefer_floor") {
    resize.rounding = Resize::Rounding::half_down;
  } else if (rounding == "round_prefer_ceil") {
    resize.rounding = Resize::Rounding::half_up;
  } else if (rounding == "floor") {
    resize.rounding = Resize::Rounding::down;
  } else if (rounding == "ceil") {
    resize.rounding = Resize::Rounding::up;
  } else {
    node.fail_attribute("nearest_mode",
                        fmt::format("'{}' is none of round_prefer_floor, round_prefer_ceil, floor, ceil", rounding));
  }
}

/// Upsample and the first Resize map coordinates asymmetrically, as by default.
Resize of_old(NodeReader& node) {
  Resize resize{.rounding = Resize::Rounding::down};
  read_kind(node, resize);
  return resize;
}

/// Scales or sizes of some axes, given since set 18, as those of all axes, of which the others stay.
template <class Number>
std::vector<Number> of_all_axes(NodeReader& node, std::span<const Number> given, std::vector<Number> all) {
  const auto axes = node.opset() < 18 ? std::nullopt : node.integers("axes");
  if (!axes) return {given.begin(), given.end()};
  if (axes->size() != given.size())
    node.fail_attribute("axes", fmt::format("{} axes for {} numbers", axes->size(), given.size()));
  for (std::size_t i = 0; i < given.size(); ++i) all[node.axis("attribute axes", (*axes)[i], all.size())] = given[i];
  return all;
}

void set_extents(NodeReader& node, Resize& resize) {
  const bool by_scales = node.has_input(2) && node.constant(2).size() > 0;
  const bool by_sizes = node.has_input(3) && node.constant(3).size() > 0;
  if (by_scales == by_sizes) node.fail("expected either scales or sizes");
  const Shape& shape = node.shape(0);
  if (by_scales)
    return set_scales(node, resize, of_all_axes(node, node.floats(2), std::vector<float>(shape.size(), 1)));
  const Constant& sizes = node.constant(3);  // may contain the batch size
  if (!sizes.integers()) node.fail_input(3, "expected integers");
  set_sizes(node, resize, of_all_axes(node, sizes.ints(), std::vector<std::int64_t>(shape.begin(), shape.end())), 3);
}

/// The weights of the four elements around a place, of which the second is `apart` before it (Keys' cubic).
std::array<double, 4> cubic_weights(double apart, double a) {
  const auto near = [&](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [&](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(apart + 1), near(apart), near(1 - apart), far(2 - apart)};
}

/// The matrix that makes an axis of the output of one of the input. Places outside count as the element at the end, or
/// not at all.
CsrMatrix cubic_matrix(const Resize& resize, std::size_t axis, Extent input, double a, bool exclude_outside) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (Extent i = 0; i < resize.size[axis]; ++i) {
    const double place = resize_place(resize, axis, input, i);
    const auto first = static_cast<Extent>(std::floor(place));
    std::array<double, 4> weights = cubic_weights(place - static_cast<double>(first), a);
    double sum = 0;
    for (Extent k = 0; k < 4; ++k) {
      const Extent at = first - 1 + k;
      if (exclude_outside && (at < 0 || at >= input)) weights[static_cast<std::size_t>(k)] = 0;
      sum += weights[static_cast<std::size_t>(k)];
    }
    std::map<Extent, double> row;
    for (Extent k = 0; k < 4; ++k)
      row[std::clamp<Extent>(first - 1 + k, 0, input - 1)] += weights[static_cast<std::size_t>(k)] / sum;
    for (const auto& [column, weight] : row) {
      if (weight == 0) continue;
      indices.push_back(static_cast<Index>(column));
      values.push_back(static_cast<float>(weight));
    }
    offsets.push_back(indices.size());
  }
  return make_csr(static_cast<Index>(resize.size[axis]), static_cast<Index>(input), std::move(offsets),
                  std::move(indices), std::move(values));
}

/// A cubic resize is a linear map of each axis.
void read_cubic(NodeReader& node, const Resize& resize) {
  const float a = node.real("cubic_coeff_a", -0.75F);
  const bool exclude_outside = node.integer("exclude_outside", 0) != 0;
  const Images images = as_images(node);
  ValueId value = node.value(0);
  for (std::size_t axis = 2 - images.axes; axis < 2; ++axis) {
    const Extent length = images.lengths[axis];
    if (resize.size[axis] == length && resize.scale[axis] == 1) continue;
    node.graph().budget().take(static_cast<std::size_t>(resize.size[axis]) * 4 * (sizeof(Index) + sizeof(float)));
    const bool rows = axis == 0;
    if (rows) value = node.add(Transpose{{0, 1, 3, 2}}, {value});
    value = node.add(Linear{cubic_matrix(resize, axis, length, a, exclude_outside), {}}, {value});
    if (rows) value = node.add(Transpose{{0, 1, 3, 2}}, {value});
  }
  node.set_output(value);
}

}  // namespace

void read_resize(NodeReader& node) {
  if (node.opset() == 10) {
    Resize resize = of_old(node);
    if (node.inputs() != 2) node.fail(fmt::format("{} inputs, expected 2", node.inputs()));
    set_scales(node, resize, node.floats(1));
    // The first version's text does not define the rounding in this case.
    if (resize.kind == Resize::Kind::nearest && std::min(resize.scale[0], resize.scale[1]) < 1)
      node.fail_attribute("mode", "nearest can shrink images only from operator set 11 on");
    return node.set_output(resize, {node.value(0)});
  }
  Resize resize;
  const bool cubic = node.text("mode", "nearest") == "cubic";
  if (!cubic) read_kind(node, resize);
  read_place(node, resize);
  node.ignore("cubic_coeff_a");
  node.ignore("extrapolation_value");
  if (!cubic) node.require("exclude_outside", 0, "0 is");
  if (node.opset() >= 18) node.require("antialias", 0, "0 is");
  if (node.opset() >= 18) node.require("keep_aspect_ratio_policy", "stretch");
  set_extents(node, resize);
  // In this case PyTorch takes the first element instead of the middle one.
  const Images images = as_images(node);
  for (std::size_t axis = 2 - images.axes; axis < 2; ++axis)
    if (resize.size[axis] == 1 && images.lengths[axis] != 1 &&
        node.text("coordinate_transformation_mode", "") == "pytorch_half_pixel")
      node.fail_attribute("coordinate_transformation_mode",
                          "pytorch_half_pixel to an axis of length 1 is not supported");
  if (cubic) return read_cubic(node, resize);
  node.set_output(resize, {node.value(0)});
}

void read_upsample(NodeReader& node) {
  Resize resize = of_old(node);
  if (node.opset() < 9) {
    const auto scales = node.reals("scales");
    if (!scales) node.fail("attribute scales is missing");
    set_scales(node, resize, *scales);
  } else {
    set_scales(node, resize, node.floats(1));
  }
  if (resize.scale[0] < 1 || resize.scale[1] < 1) node.fail("scales: less than 1; Upsample can only enlarge images");
  node.set_output(resize, {node.value(0)});
}

}  // namespace spdnn::onnx_reader
