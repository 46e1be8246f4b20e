// ConvTranspose: output P of an axis is the sum, over inputs h and taps r with h stride + r dilation = P + padding, of
// x(h) w(r). For each phase, the outputs i stride + phase are therefore a convolution of stride 1 with some of the
// taps. The node becomes one convolution that computes all phases as channels, followed by data movement that
// interleaves them: the same sums of the same weights, for every engine that supports convolutions.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/window.hpp"

namespace spdnn::onnx_reader {

namespace {

/// One spatial axis of the node. Padding is removed from the beginning of the output.
struct Axis {
  Extent input = 1;
  Extent kernel = 1;
  Extent stride = 1;
  Extent dilation = 1;
  Extent padding = 0;
  Extent output = 1;

  /// The output length without padding.
  Extent whole() const { return stride * (input - 1) + dilation * (kernel - 1) + 1; }
};

/// A tap of the node, and the corresponding tap of the convolution.
struct Tap {
  Extent from;
  Extent to;
};

/// The convolution along one axis: window i computes the outputs i stride + phase.
struct Phases {
  Extent windows = 1;
  Extent kernel = 1;
  Extent dilation = 1;
  Extent pad_begin = 0;
  Extent pad_end = 0;
  std::vector<std::vector<Tap>> taps;  ///< by phase, in the order of the convolution's taps
};

Phases phases_of(const Axis& axis) {
  Phases phases;
  phases.windows = (axis.output + axis.stride - 1) / axis.stride;
  phases.taps.resize(static_cast<std::size_t>(axis.stride));
  // Window i reads input i + offset; the window begins no later than the image and ends no earlier.
  Extent first = 0;
  Extent last = axis.input - phases.windows;
  for (Extent tap = axis.kernel; tap-- > 0;) {
    const Extent ahead = tap * axis.dilation - axis.padding;
    const Extent phase = (ahead % axis.stride + axis.stride) % axis.stride;
    const Extent offset = (phase - ahead) / axis.stride;
    first = std::min(first, offset);
    last = std::max(last, offset);
    phases.taps[static_cast<std::size_t>(phase)].push_back({tap, offset});
  }
  // All taps lie at multiples of one step; with stride 1 this is the node's own dilation.
  Extent step = 0;
  for (const std::vector<Tap>& taps : phases.taps)
    for (const Tap& tap : taps) step = std::gcd(step, tap.to - first);
  phases.dilation = std::max<Extent>(step, 1);
  for (std::vector<Tap>& taps : phases.taps)
    for (Tap& tap : taps) tap.to = (tap.to - first) / phases.dilation;
  phases.kernel = (last - first + phases.dilation - 1) / phases.dilation + 1;
  phases.pad_begin = -first;
  phases.pad_end = first + (phases.kernel - 1) * phases.dilation + phases.windows - axis.input;
  return phases;
}

/// Sets the output lengths given by the file, if any, and the padding that follows from them.
void set_outputs(NodeReader& node, std::array<Axis, 2>& axes, std::size_t count) {
  const auto given = axis_numbers(node, "output_shape", count, 1);
  const auto added = axis_numbers(node, "output_padding", count, 0);
  const auto pads = axis_numbers(node, "pads", 2 * count, 0);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    node.fail_attribute("auto_pad", fmt::format("'{}' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", automatic));
  for (std::size_t i = 0; i < count; ++i) {
    Axis& axis = axes[2 - count + i];
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

std::array<Axis, 2> read_output_axes(NodeReader& node, std::size_t count, const Filters& filters) {
  const Window window = read_moves(node, count, filters.kernel());
  const Shape& shape = node.shape(0);
  std::array<Axis, 2> axes;
  for (std::size_t axis = 2 - count; axis < 2; ++axis)
    axes[axis] = {shape[shape.size() - 2 + axis], window.kernel[axis], window.stride[axis], window.dilation[axis]};
  set_outputs(node, axes, count);
  return axes;
}

/// Converts the node's weights, input channels x output channels per group x taps, to the filters of a convolution:
/// each output channel has one row per phase.
CsrMatrix filters_of(const Filters& filters, std::span<const float> weights, Extent groups,
                     const std::array<Phases, 2>& phases) {
  const Extent channels = filters.shape[0] / groups;
  const Extent outputs = filters.shape[1];
  const Extent width = filters.shape.back();
  const auto taps = static_cast<Extent>(weights.size()) / filters.shape[0] / outputs;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  const auto add_row = [&](Extent group, Extent output, const std::vector<Tap>& rows, const std::vector<Tap>& columns) {
    const bool empty = rows.empty() || columns.empty();
    for (Extent channel = 0; channel < channels && !empty; ++channel)
      for (const Tap& row : rows)
        for (const Tap& column : columns) {
          const Extent filter = (group * channels + channel) * outputs + output;
          const float value = weights[static_cast<std::size_t>(filter * taps + row.from * width + column.from)];
          if (value == 0.0F) continue;
          indices.push_back(static_cast<Index>((channel * phases[0].kernel + row.to) * phases[1].kernel + column.to));
          values.push_back(value);
        }
    offsets.push_back(indices.size());
  };
  for (Extent group = 0; group < groups; ++group)
    for (Extent output = 0; output < outputs; ++output)
      for (const auto& rows : phases[0].taps)
        for (const auto& columns : phases[1].taps) add_row(group, output, rows, columns);
  const auto rows = static_cast<Index>(offsets.size() - 1);
  const Extent columns = channels * phases[0].kernel * phases[1].kernel;
  return make_csr(rows, static_cast<Index>(columns), std::move(offsets), std::move(indices), std::move(values));
}

/// Interleaves the phases, which the convolution computes as channels, into the output.
ValueId side_by_side(NodeReader& node, ValueId made, const std::array<Axis, 2>& axes,
                     const std::array<Phases, 2>& phases, std::size_t count, Extent channels) {
  const Extent images = node.graph().shape(made)[0];
  Shape apart{images, channels};
  Shape joined = apart;
  Pad cut{Shape(count + 2), Shape(count + 2), 0};
  for (std::size_t axis = 2 - count; axis < 2; ++axis) apart.push_back(axes[axis].stride);
  for (std::size_t axis = 2 - count; axis < 2; ++axis) {
    apart.push_back(phases[axis].windows);
    joined.push_back(phases[axis].windows * axes[axis].stride);
    cut.end[count + axis] = axes[axis].output - joined.back();
  }
  if (axes[0].stride * axes[1].stride > 1) {
    const std::vector<Index> order = count == 1 ? std::vector<Index>{0, 1, 3, 2} : std::vector<Index>{0, 1, 4, 2, 5, 3};
    made = node.add(Reshape{joined}, {node.add(Transpose{order}, {node.add(Reshape{apart}, {made})})});
  }
  const bool whole = std::all_of(cut.end.begin(), cut.end.end(), [](Extent end) { return end == 0; });
  return whole ? made : node.add(std::move(cut), {made});
}

}  // namespace

void read_conv_transpose(NodeReader& node) {
  const std::size_t count = spatial_axes(node);
  const Filters filters = read_filters(node, count);
  const std::span<const float> weights = node.floats(1);
  const std::array<Axis, 2> axes = read_output_axes(node, count, filters);
  const Extent channels = node.shape(0)[1];
  const std::int64_t groups = node.integer("group", 1);
  if (channels != filters.shape[0])
    node.fail_input(1, fmt::format("weights for {} channels, but the input has {}", filters.shape[0], channels));
  if (groups < 1 || groups > channels || channels % groups != 0)
    node.fail_attribute("group", fmt::format("{} does not divide the {} input channels", groups, channels));

  // Extents are below 2^31, so products of two do not overflow.
  const Extent phase_count = axes[0].stride * axes[1].stride;
  const Extent outputs = filters.shape[1] * groups;
  if (phase_count > Extent{kMaxIndex} || outputs > Extent{kMaxIndex} || outputs * phase_count > Extent{kMaxIndex})
    node.fail_attribute("strides", fmt::format("{} x {} are too large", axes[0].stride, axes[1].stride));
  const Offset rows = static_cast<Offset>(outputs * phase_count);
  node.graph().budget().take(rows * 2 * (sizeof(std::vector<Tap>) + sizeof(Offset)) +
                             weights.size() * (sizeof(Tap) + sizeof(Index) + sizeof(float)) * 2);
  const std::array<Phases, 2> phases{phases_of(axes[0]), phases_of(axes[1])};
  Convolution convolution;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Phases& one = phases[axis];
    const Extent largest = std::max({one.kernel, one.dilation, one.pad_begin, one.pad_end});
    if (largest > Extent{kMaxIndex}) node.fail(fmt::format("a window of {} elements is too large", largest));
    convolution.window.kernel[axis] = static_cast<Index>(one.kernel);
    convolution.window.dilation[axis] = static_cast<Index>(one.dilation);
    convolution.window.pad_begin[axis] = static_cast<Index>(one.pad_begin);
    convolution.window.pad_end[axis] = static_cast<Index>(one.pad_end);
  }
  const Extent window = phases[0].kernel * phases[1].kernel;
  if (window > Extent{kMaxIndex} || window * (channels / groups) > Extent{kMaxIndex})
    node.fail(fmt::format("filters of {} x {} taps are too large", phases[0].kernel, phases[1].kernel));
  convolution.groups = static_cast<Index>(groups);
  convolution.weights = filters_of(filters, weights, groups, phases);
  for (const float bias : read_bias(node, static_cast<Offset>(outputs)))
    convolution.bias.insert(convolution.bias.end(), static_cast<std::size_t>(phase_count), bias);
  const ValueId made = node.add(std::move(convolution), {node.value(0)});
  node.set_output(side_by_side(node, made, axes, phases, count, outputs));
}

}  // namespace spdnn::onnx_reader
