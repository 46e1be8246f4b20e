// ConvTranspose.

#include "io/models/transposed_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/window.hpp"

namespace spdnn::onnx_reader {

namespace {

/// Sets the output lengths given by the file, if any, and the padding that follows from them.
void set_outputs(NodeReader& node, std::array<TransposedConvolution::Axis, 2>& axes, std::size_t count) {
  const auto given = axis_numbers(node, "output_shape", count, 1);
  const auto added = axis_numbers(node, "output_padding", count, 0);
  const auto pads = axis_numbers(node, "pads", 2 * count, 0);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    node.fail_attribute("auto_pad", fmt::format("'{}' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", automatic));
  for (std::size_t i = 0; i < count; ++i) {
    TransposedConvolution::Axis& axis = axes[2 - count + i];
    const Extent whole = axis.whole() + (added ? (*added)[i] : 0);
    if (given || same) {
      axis.output = given ? Extent{(*given)[i]} : axis.input * axis.stride;
      const Extent padding = std::max<Extent>(whole - axis.output, 0);
      axis.padding = automatic == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
    } else {
      if (pads && automatic == "NOTSET") axis.padding = (*pads)[i];
      axis.output = whole - axis.padding - (pads && automatic == "NOTSET" ? Extent{(*pads)[count + i]} : 0);
    }
    if (axis.output < 1 || axis.output > Extent{kMaxIndex})
      node.fail(fmt::format("an output axis has the length {}, expected 1..{}", axis.output, kMaxIndex));
  }
}

std::array<TransposedConvolution::Axis, 2> read_output_axes(NodeReader& node, std::size_t count,
                                                            const Filters& filters) {
  const Window window = read_moves(node, count, filters.kernel());
  const Shape& shape = node.shape(0);
  std::array<TransposedConvolution::Axis, 2> axes;
  for (std::size_t axis = 2 - count; axis < 2; ++axis)
    axes[axis] = {shape[shape.size() - 2 + axis], window.kernel[axis], window.stride[axis], window.dilation[axis]};
  set_outputs(node, axes, count);
  return axes;
}

}  // namespace

void read_conv_transpose(NodeReader& node) {
  const std::size_t count = spatial_axes(node);
  const Filters filters = read_filters(node, count);
  TransposedConvolution of;
  of.weights = node.floats(1);
  of.axes = read_output_axes(node, count, filters);
  of.inputs = node.shape(0)[1];
  of.outputs = filters.shape[1];
  of.groups = node.integer("group", 1);
  if (of.inputs != filters.shape[0])
    node.fail_input(1, fmt::format("weights for {} channels, but the input has {}", filters.shape[0], of.inputs));
  if (of.groups < 1 || of.groups > of.inputs || of.inputs % of.groups != 0)
    node.fail_attribute("group", fmt::format("{} does not divide the {} input channels", of.groups, of.inputs));
  of.bias = read_bias(node, static_cast<Offset>(of.outputs * of.groups));
  node.set_output(of.add(node, node.value(0)));
}

}  // namespace spdnn::onnx_reader
