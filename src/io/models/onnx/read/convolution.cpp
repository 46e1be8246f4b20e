// Conv and pooling: windows that move over one or two spatial axes.

#include <fmt/format.h>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/window.hpp"
#include "io/models/same_padding.hpp"

namespace spdnn::onnx_reader {

namespace {

/// An odd padding is one larger at the end for SAME_UPPER, at the beginning for SAME_LOWER.
void pad_to_same(NodeReader& node, Window& window, std::size_t axes, bool upper) {
  const Shape& shape = node.shape(0);
  for (std::size_t axis = 2 - axes; axis < 2; ++axis) {
    const auto [less, more] =
        same_padding(shape[shape.size() - 2 + axis], window.kernel[axis], window.stride[axis], window.dilation[axis]);
    if (more > Extent{kMaxIndex}) node.fail_attribute("auto_pad", fmt::format("padding of {} is too much", more));
    window.pad_begin[axis] = static_cast<Index>(upper ? less : more);
    window.pad_end[axis] = static_cast<Index>(upper ? more : less);
  }
}

/// Reads the window with its padding from the attributes shared by Conv and pooling.
Window read_window(NodeReader& node, std::size_t axes, const std::optional<std::vector<Index>>& kernel) {
  Window window = read_moves(node, axes, kernel);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const auto pads = axis_numbers(node, "pads", 2 * axes, 0);
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_to_same(node, window, axes, automatic == "SAME_UPPER");
  } else if (automatic == "NOTSET") {
    if (pads) window.pad_begin = placed(*pads, 0, axes, 0);
    if (pads) window.pad_end = placed(*pads, axes, axes, 0);
  } else if (automatic != "VALID") {
    node.fail_attribute("auto_pad", fmt::format("'{}' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", automatic));
  }
  return window;
}

/// Turns the border of -inf into padding of the pool's window. With ceil_mode this would be wrong: a last window is
/// dropped if it begins in the pool's padding, but not if it begins in the border that Pad has added.
void take_in(const NodeReader& node, Pool& pool, const Surrounded& input) {
  if (pool.round_up) node.fail_attribute("ceil_mode", "1 is not supported where the input is padded by -inf");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    pool.window.pad_begin[axis] += input.begin[axis];
    pool.window.pad_end[axis] += input.end[axis];
  }
}

void read_pool(NodeReader& node, Pool pool) {
  pool.window = read_window(node, spatial_axes(node), std::nullopt);
  const std::int64_t round_up = node.integer("ceil_mode", 0);
  if (round_up != 0 && round_up != 1) node.fail_attribute("ceil_mode", fmt::format("{} is neither 0 nor 1", round_up));
  pool.round_up = round_up == 1 && node.text("auto_pad", "NOTSET") == "NOTSET";
  const Surrounded* const surrounded = pool.kind == Pool::Kind::max ? node.surrounded_or_null(0) : nullptr;
  if (surrounded != nullptr) take_in(node, pool, *surrounded);
  node.set_output(pool, {surrounded != nullptr ? surrounded->value : node.value(0)});
}

void read_global_pool(NodeReader& node, Pool::Kind kind) {
  spatial_axes(node);
  node.set_output(GlobalPool{kind}, {node.value(0)});
}

}  // namespace

void read_conv(NodeReader& node) {
  const std::size_t axes = spatial_axes(node);
  const Filters filters = read_filters(node, axes);
  const Shape& shape = filters.shape;
  Convolution convolution;
  convolution.window = read_window(node, axes, filters.kernel());
  const std::int64_t groups = node.integer("group", 1);
  const Extent channels = node.shape(0)[1];
  if (groups < 1 || groups > shape[0] || shape[0] % groups != 0)
    node.fail_attribute("group", fmt::format("{} does not divide the {} output channels", groups, shape[0]));
  if (channels / groups != shape[1] || channels % groups != 0)
    node.fail_attribute(
        "group", fmt::format("the weights are for {} groups of {} channels, but the input has {} channels", groups,
                             shape[1], channels));
  convolution.groups = static_cast<Index>(groups);
  const Offset rows = static_cast<Offset>(shape[0]);
  const Offset cols = *elements(shape) / rows;
  if (cols > kMaxIndex) node.fail_input(1, fmt::format("filters of {} weights are too large", cols));
  convolution.weights = node.weights(1, rows, cols, false);
  convolution.bias = read_bias(node, rows);
  node.set_output(std::move(convolution), {node.value(0)});
}

void read_max_pool(NodeReader& node) {
  node.ignore("storage_order");  // applies to the indices, the second output
  read_pool(node, {});
}

void read_average_pool(NodeReader& node) {
  const std::int64_t count_padding = node.integer("count_include_pad", 0);
  if (count_padding != 0 && count_padding != 1)
    node.fail_attribute("count_include_pad", fmt::format("{} is neither 0 nor 1", count_padding));
  Pool pool{.kind = Pool::Kind::average, .count_padding = count_padding == 1};
  read_pool(node, pool);
}

void read_global_max_pool(NodeReader& node) { read_global_pool(node, Pool::Kind::max); }
void read_global_average_pool(NodeReader& node) { read_global_pool(node, Pool::Kind::average); }

}  // namespace spdnn::onnx_reader
