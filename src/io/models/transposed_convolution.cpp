#include "io/models/transposed_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace spdnn {

namespace {

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

Phases phases_of(const TransposedConvolution::Axis& axis) {
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

/// Converts the weights to the filters of a convolution: each output channel has one row per phase.
CsrMatrix filters_of(const TransposedConvolution& of, const std::array<Phases, 2>& phases) {
  const Extent channels = of.inputs / of.groups;
  const Extent width = of.axes[1].kernel;
  const Extent taps = of.axes[0].kernel * width;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  const auto add_row = [&](Extent group, Extent output, const std::vector<Tap>& rows, const std::vector<Tap>& columns) {
    const bool empty = rows.empty() || columns.empty();
    for (Extent channel = 0; channel < channels && !empty; ++channel)
      for (const Tap& row : rows)
        for (const Tap& column : columns) {
          const Extent filter = (group * channels + channel) * of.outputs + output;
          const float value = of.weights[static_cast<std::size_t>(filter * taps + row.from * width + column.from)];
          if (value == 0.0F) continue;
          indices.push_back(static_cast<Index>((channel * phases[0].kernel + row.to) * phases[1].kernel + column.to));
          values.push_back(value);
        }
    offsets.push_back(indices.size());
  };
  for (Extent group = 0; group < of.groups; ++group)
    for (Extent output = 0; output < of.outputs; ++output)
      for (const auto& rows : phases[0].taps)
        for (const auto& columns : phases[1].taps) add_row(group, output, rows, columns);
  const auto rows = static_cast<Index>(offsets.size() - 1);
  const Extent columns = channels * phases[0].kernel * phases[1].kernel;
  return make_csr(rows, static_cast<Index>(columns), std::move(offsets), std::move(indices), std::move(values));
}

}  // namespace

std::size_t TransposedConvolution::bytes() const {
  // Extents are below 2^31, so products of two do not overflow.
  const Extent phase_count = axes[0].stride * axes[1].stride;
  const Extent all = outputs * groups;
  if (phase_count > Extent{kMaxIndex} || all > Extent{kMaxIndex} || all * phase_count > Extent{kMaxIndex})
    throw UsageError(fmt::format("strides of {} x {} are too large", axes[0].stride, axes[1].stride));
  return static_cast<std::size_t>(all * phase_count) * 2 * (sizeof(std::vector<Tap>) + sizeof(Offset)) +
         weights.size() * (sizeof(Tap) + sizeof(Index) + sizeof(float)) * 2;
}

Convolution TransposedConvolution::convolution() const {
  const std::array<Phases, 2> phases{phases_of(axes[0]), phases_of(axes[1])};
  Convolution made;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Phases& one = phases[axis];
    const Extent largest = std::max({one.kernel, one.dilation, one.pad_begin, one.pad_end});
    if (largest > Extent{kMaxIndex}) throw UsageError(fmt::format("a window of {} elements is too large", largest));
    made.window.kernel[axis] = static_cast<Index>(one.kernel);
    made.window.dilation[axis] = static_cast<Index>(one.dilation);
    made.window.pad_begin[axis] = static_cast<Index>(one.pad_begin);
    made.window.pad_end[axis] = static_cast<Index>(one.pad_end);
  }
  const Extent window = phases[0].kernel * phases[1].kernel;
  if (window > Extent{kMaxIndex} || window * (inputs / groups) > Extent{kMaxIndex})
    throw UsageError(fmt::format("filters of {} x {} taps are too large", phases[0].kernel, phases[1].kernel));
  made.groups = static_cast<Index>(groups);
  made.weights = filters_of(*this, phases);
  const auto phase_count = static_cast<std::size_t>(axes[0].stride * axes[1].stride);
  for (const float one : bias) made.bias.insert(made.bias.end(), phase_count, one);
  return made;
}

TransposedConvolution::Movement TransposedConvolution::moved(const Shape& made) const {
  const std::size_t count = made.size() - 2;
  Shape apart{made[0], outputs * groups};
  Shape joined = apart;
  Pad cut{Shape(made.size()), Shape(made.size()), 0};
  for (std::size_t axis = 2 - count; axis < 2; ++axis) apart.push_back(axes[axis].stride);
  for (std::size_t axis = 2 - count; axis < 2; ++axis) {
    const Extent windows = made[count + axis];
    apart.push_back(windows);
    joined.push_back(windows * axes[axis].stride);
    cut.end[count + axis] = axes[axis].output - joined.back();
  }
  Movement movement;
  if (axes[0].stride * axes[1].stride > 1) {
    movement.apart = Reshape{apart};
    movement.order.order = count == 1 ? std::vector<Index>{0, 1, 3, 2} : std::vector<Index>{0, 1, 4, 2, 5, 3};
    movement.joined = Reshape{joined};
  }
  if (std::any_of(cut.end.begin(), cut.end.end(), [](Extent end) { return end != 0; })) movement.cut = std::move(cut);
  return movement;
}

}  // namespace spdnn
