// Pad, Resize and its predecessor Upsample.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/models/onnx/read/operators.hpp"

namespace spdnn::onnx_reader {

namespace {

/// The lengths of H and W for Resize or Upsample; H is missing if there is one spatial axis.
struct Images {
  std::size_t axes;               ///< 1 or 2
  std::array<Extent, 2> lengths;  ///< of the input
};

Images images_of(NodeReader& node) {
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
  const Images images = images_of(node);
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

void set_sizes(NodeReader& node, Resize& resize, std::size_t input) {
  const Images images = images_of(node);
  const Constant& sizes = node.constant(input);  // may contain the batch size
  if (!sizes.integers() || sizes.size() != images.axes + 2)
    node.fail_input(input, fmt::format("expected {} integers", images.axes + 2));
  const Shape& shape = node.shape(0);
  const auto kept = [&](std::size_t axis) {
    const std::int64_t size = sizes.ints()[axis];
    return size == shape[axis] || (size == kImages && shape[axis] == kBatchExtent);
  };
  if (!kept(0) || !kept(1)) node.fail_input(input, "N and C cannot be resized");
  for (std::size_t axis = 2 - images.axes; axis < 2; ++axis) {
    set_length(node, resize, axis, sizes.ints()[sizes.size() - 2 + axis]);
    resize.scale[axis] = static_cast<float>(resize.size[axis]) / static_cast<float>(images.lengths[axis]);
  }
  if (images.axes == 1) resize.size[0] = 1;
}

void read_kind(NodeReader& node, Resize& resize) {
  const std::string kind = node.text("mode", "nearest");
  if (kind != "nearest" && kind != "linear")
    node.fail_attribute("mode", fmt::format("'{}' is not supported; expected nearest or linear", kind));
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

/// The value with a border of -inf.
Surrounded surrounded(NodeReader& node, const Pad& pad) {
  Surrounded made{node.value(0), node.shape(0)};
  const std::size_t rank = made.shape.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (pad.begin[axis] == 0 && pad.end[axis] == 0) continue;
    if (rank < 3 || rank > 4 || axis < 2 || pad.begin[axis] < 0 || pad.end[axis] < 0)
      node.fail(
          fmt::format("pads: -inf around axis {} of {} is not supported; in front of a MaxPool it may be added to one "
                      "or two spatial axes",
                      axis, shape_text(made.shape)));
    const std::size_t place = axis + 2 - rank;  // among H and W
    made.begin[place] = static_cast<Index>(pad.begin[axis]);
    made.end[place] = static_cast<Index>(pad.end[axis]);
    made.shape[axis] += pad.begin[axis] + pad.end[axis];
  }
  return made;
}

/// Upsample and the first Resize map coordinates asymmetrically, as by default.
Resize of_old(NodeReader& node) {
  Resize resize{.rounding = Resize::Rounding::down};
  read_kind(node, resize);
  return resize;
}

}  // namespace

void read_pad(NodeReader& node) {
  node.require("mode", "constant");
  const Shape shape = node.shape(0);
  std::vector<std::int64_t> pads;
  Pad pad;
  if (node.opset() < 11) {
    if (node.inputs() > 1) node.fail("the padding is an attribute before operator set 11");
    const auto given = node.integers("pads");
    if (!given) node.fail("attribute pads is missing");
    pads = *given;
    pad.value = node.any_real("value", 0);
  } else {
    const std::span<const std::int64_t> given = node.ints(1);
    pads.assign(given.begin(), given.end());
    if (node.has_input(2)) pad.value = node.scalar(2);
    if (node.has_input(3)) node.fail_input(3, "axes is not supported: give the padding of all axes");
  }
  if (pads.size() != 2 * shape.size())
    node.fail(fmt::format("pads: {} numbers for {} axes, which need two each", pads.size(), shape.size()));
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < -std::int64_t{kMaxIndex} || pads[i] > std::int64_t{kMaxIndex})
      node.fail(fmt::format("pads: {} is outside -{}..{}", pads[i], kMaxIndex, kMaxIndex));
    if (pads[i] != 0 && shape[i % shape.size()] == kBatchExtent)
      node.fail("pads: the batch axis cannot be padded; give the batch a fixed size");
    (i < shape.size() ? pad.begin : pad.end).push_back(pads[i]);
  }
  if (std::none_of(pads.begin(), pads.end(), [](std::int64_t count) { return count > 0; })) pad.value = 0;
  if (pad.value == -std::numeric_limits<float>::infinity()) return node.set_output(surrounded(node, pad));
  if (!std::isfinite(pad.value)) {
    const std::string problem = fmt::format("{} is neither finite nor -inf", pad.value);
    node.opset() < 11 ? node.fail_attribute("value", problem) : node.fail_input(2, problem);
  }
  node.set_output(std::move(pad), {node.value(0)});
}

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
  read_kind(node, resize);
  read_place(node, resize);
  node.ignore("cubic_coeff_a");
  node.ignore("extrapolation_value");
  node.require("exclude_outside", 0, "0 is");
  if (node.opset() >= 18) node.require("antialias", 0, "0 is");
  if (node.opset() >= 18) node.require("keep_aspect_ratio_policy", "stretch");
  const bool by_scales = node.has_input(2) && node.constant(2).size() > 0;
  const bool by_sizes = node.has_input(3) && node.constant(3).size() > 0;
  if (by_scales == by_sizes) node.fail("expected either scales or sizes");
  if (by_scales) {
    set_scales(node, resize, node.floats(2));
  } else {
    set_sizes(node, resize, 3);
  }
  // In this case PyTorch takes the first element instead of the middle one.
  const Images images = images_of(node);
  for (std::size_t axis = 2 - images.axes; axis < 2; ++axis)
    if (resize.size[axis] == 1 && images.lengths[axis] != 1 &&
        node.text("coordinate_transformation_mode", "") == "pytorch_half_pixel")
      node.fail_attribute("coordinate_transformation_mode",
                          "pytorch_half_pixel to an axis of length 1 is not supported");
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
