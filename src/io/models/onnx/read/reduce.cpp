// Reductions over axes, and what is made of them: LogSoftmax and normalisations.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/models/onnx/read/combined.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

using Both = Elementwise::Kind;
using Of = Activation::Kind;

/// The axes to reduce, ascending: an attribute before the set `input_since`, an input since; all axes if none are
/// given.
std::vector<Index> read_reduced(NodeReader& node, std::size_t rank, int input_since) {
  std::vector<std::int64_t> axes;
  bool none_is_all = true;
  if (node.opset() < input_since) {
    if (node.inputs() > 1) node.fail(fmt::format("the axes are an attribute before operator set {}", input_since));
    axes = node.integers("axes").value_or(axes);
  } else {
    none_is_all = node.integer("noop_with_empty_axes", 0) == 0;
    if (node.has_input(1)) axes.assign(node.ints(1).begin(), node.ints(1).end());
  }
  std::vector<bool> reduced(rank, axes.empty() && none_is_all);
  for (const std::int64_t axis : axes) reduced[node.axis("axes", axis, rank)] = true;
  std::vector<Index> found;
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (reduced[axis]) found.push_back(static_cast<Index>(axis));
  return found;
}

std::vector<Index> axes_from(std::size_t axis, std::size_t rank) {
  std::vector<Index> axes(rank - axis);
  std::iota(axes.begin(), axes.end(), static_cast<Index>(axis));
  return axes;
}

bool contains(const std::vector<Index>& axes, std::size_t axis) {
  return std::count(axes.begin(), axes.end(), axis) > 0;
}

void require_no_batch(NodeReader& node, const Shape& shape, const std::vector<Index>& axes) {
  if (!shape.empty() && shape[0] == kBatchExtent && contains(axes, 0))
    node.fail("axes: the batch axis is among them; give the batch a fixed size");
}

/// The shape images x channels x elements to average over, which are the last axes. 1 x kBatchExtent stays
/// kBatchExtent.
Shape as_rows(const Shape& shape, const std::vector<Index>& axes) {
  Shape rows{1, 1, 1};
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    rows[contains(axes, axis) ? 2 : axis == 0 ? 0 : 1] *= shape[axis];
  return rows;
}

ValueId square(NodeReader& node, ValueId x) { return combined(node, Both::multiply, x, x); }

/// Reads the axes and keepdims, and sets the output to what `reduce` makes of the input and the axes.
template <class Make>
void read_reduction(NodeReader& node, int input_since, Make make) {
  const Shape shape = node.shape(0);
  const bool kept_as_one = node.integer("keepdims", 1) != 0;
  const std::vector<Index> axes = read_reduced(node, shape.size(), input_since);
  require_no_batch(node, shape, axes);
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (!contains(axes, axis) || kept_as_one) left.push_back(contains(axes, axis) ? 1 : shape[axis]);
  node.set_output(reshaped(node, make(node.value(0), axes), left));
}

/// log(sum exp(x)), with the largest x subtracted first, so that no exponential overflows.
struct LogSum {
  ValueId moved;  ///< x less the largest
  ValueId sum;    ///< the logarithm of the sum of their exponentials
  ValueId largest;
};
LogSum log_sum(NodeReader& node, ValueId x, const std::vector<Index>& axes) {
  const ValueId largest = reduced(node, Reduce::Kind::maximum, x, axes);
  const ValueId moved = combined(node, Both::subtract, x, largest);
  const ValueId sum = reduced(node, Reduce::Kind::sum, applied(node, Of::exp, moved), axes);
  return {moved, applied(node, Of::log, sum), largest};
}

/// Values less their mean, and the square root of their variance plus epsilon.
struct Standardized {
  ValueId mean;
  ValueId deviations;
  ValueId root;
};
Standardized standardized(NodeReader& node, ValueId x, const std::vector<Index>& axes, float epsilon) {
  require_no_batch(node, node.graph().shape(x), axes);
  const ValueId mean = mean_over(node, x, axes);
  const ValueId deviations = combined(node, Both::subtract, x, mean);
  const ValueId variance = mean_over(node, square(node, deviations), axes);
  return {mean, deviations, applied(node, Of::sqrt, combined_with(node, Both::add, variance, epsilon))};
}

/// Scale and bias, inputs 1 and 2, in that shape.
ValueId scaled(NodeReader& node, ValueId x, const Shape& shape) {
  const Shape before = node.graph().shape(x);
  x = combined(node, Both::multiply, x, reshaped(node, node.value(1), shape));
  if (node.has_input(2)) x = combined(node, Both::add, x, reshaped(node, node.value(2), shape));
  if (node.graph().shape(x) != before)
    node.fail_input(1, fmt::format("a scale of {} for {}", shape_text(shape), shape_text(before)));
  return x;
}

}  // namespace

ValueId reduced(NodeReader& node, Reduce::Kind kind, ValueId value, const std::vector<Index>& axes) {
  if (axes.empty()) return value;
  require_no_batch(node, node.graph().shape(value), axes);
  return node.add(Reduce{kind, axes}, {value});
}

ValueId mean_over(NodeReader& node, ValueId value, const std::vector<Index>& axes) {
  if (axes.empty()) return value;
  const Shape shape = node.graph().shape(value);
  Shape left = shape;
  std::vector<Index> order;
  for (const bool last : {false, true})
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (contains(axes, axis) == last) order.push_back(static_cast<Index>(axis));
  for (const Index axis : axes) left[axis] = 1;
  const bool last_already = std::is_sorted(order.begin(), order.end());
  const bool spatial = last_already && (shape.size() == 3 || shape.size() == 4) && axes.size() == shape.size() - 2;
  if (!last_already) value = node.add(Transpose{order}, {value});
  if (!spatial) value = reshaped(node, value, as_rows(shape, axes));
  return reshaped(node, node.add(GlobalPool{Pool::Kind::average}, {value}), left);
}

void read_reduce_mean(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) { return mean_over(node, x, axes); });
}
void read_reduce_sum(NodeReader& node) {
  read_reduction(node, 13, [&](ValueId x, const auto& axes) { return reduced(node, Reduce::Kind::sum, x, axes); });
}
void read_reduce_max(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) { return reduced(node, Reduce::Kind::maximum, x, axes); });
}
void read_reduce_min(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) { return reduced(node, Reduce::Kind::minimum, x, axes); });
}
void read_reduce_prod(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) { return reduced(node, Reduce::Kind::product, x, axes); });
}
void read_reduce_l1(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) {
    return reduced(node, Reduce::Kind::sum, applied(node, Of::abs, x), axes);
  });
}
void read_reduce_l2(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) {
    return applied(node, Of::sqrt, reduced(node, Reduce::Kind::sum, square(node, x), axes));
  });
}
void read_reduce_sum_square(NodeReader& node) {
  read_reduction(node, 18,
                 [&](ValueId x, const auto& axes) { return reduced(node, Reduce::Kind::sum, square(node, x), axes); });
}
void read_reduce_log_sum(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) {
    return applied(node, Of::log, reduced(node, Reduce::Kind::sum, x, axes));
  });
}
void read_reduce_log_sum_exp(NodeReader& node) {
  read_reduction(node, 18, [&](ValueId x, const auto& axes) {
    const LogSum parts = log_sum(node, x, axes);
    return combined(node, Both::add, parts.sum, parts.largest);
  });
}

void read_log_softmax(NodeReader& node) {
  const Shape shape = node.shape(0);
  const bool of_one_axis = node.opset() >= 13;
  const std::int64_t given = node.integer("axis", of_one_axis ? -1 : 1);
  // Before set 13 this axis and all later ones are treated as one axis, and it may equal the rank.
  const std::size_t axis = node.axis("attribute axis", given, shape.size() + (of_one_axis || given < 0 ? 0 : 1));
  std::vector<Index> axes = axes_from(axis, shape.size());
  if (of_one_axis) axes.resize(1);
  const LogSum parts = log_sum(node, node.value(0), axes);
  node.set_output(combined(node, Both::subtract, parts.moved, parts.sum));
}

void read_layer_normalization(NodeReader& node) {
  node.ignore("stash_type");
  const Shape shape = node.shape(0);
  const std::size_t axis = node.axis("attribute axis", node.integer("axis", -1), shape.size());
  const Standardized parts =
      standardized(node, node.value(0), axes_from(axis, shape.size()), node.real("epsilon", 1e-5F));
  if (node.has_output(1)) node.set_output(parts.mean, 1);
  if (node.has_output(2)) node.set_output(combined(node, Both::divide, number(node, 1), parts.root), 2);
  const Shape scale = node.shape(1);
  node.set_output(scaled(node, combined(node, Both::divide, parts.deviations, parts.root), scale));
}

void read_instance_normalization(NodeReader& node) {
  const Shape shape = node.shape(0);
  if (shape.size() < 3) node.fail_input(0, fmt::format("its shape is {}; expected N x C x W", shape_text(shape)));
  const Standardized parts = standardized(node, node.value(0), axes_from(2, shape.size()), node.real("epsilon", 1e-5F));
  Shape of_channels(shape.size() - 1, 1);
  of_channels[0] = shape[1];
  node.set_output(scaled(node, combined(node, Both::divide, parts.deviations, parts.root), of_channels));
}

void read_group_normalization(NodeReader& node) {
  node.ignore("stash_type");
  const Shape shape = node.shape(0);
  const std::int64_t groups = node.integer("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    node.fail_attribute("num_groups", fmt::format("{} does not divide the channels of {}", groups, shape_text(shape)));
  Extent each = shape[1] / groups;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) each *= shape[axis];
  const ValueId apart = reshaped(node, node.value(0), {shape[0], groups, each});
  const Standardized parts = standardized(node, apart, {2}, node.real("epsilon", 1e-5F));
  const ValueId quotients = combined(node, Both::divide, parts.deviations, parts.root);
  if (node.opset() < 21) return node.set_output(reshaped(node, scaled(node, quotients, {groups, 1}), shape));
  Shape of_channels(shape.size() - 1, 1);
  of_channels[0] = shape[1];
  node.set_output(scaled(node, reshaped(node, quotients, shape), of_channels));
}

/// The sum of squares over neighbouring channels is a convolution with a band of weights.
void read_lrn(NodeReader& node) {
  const Shape shape = node.shape(0);
  const std::int64_t size = node.integer("size", 0);
  if (shape.size() != 3 && shape.size() != 4)
    node.fail_input(0, fmt::format("its shape is {}; expected N x C x W or N x C x H x W", shape_text(shape)));
  if (size < 1 || size > std::int64_t{kMaxIndex})
    node.fail_attribute("size", fmt::format("{}, expected 1 or more", size));
  const Extent channels = shape[1];
  const float weight = node.real("alpha", 1e-4F) / static_cast<float>(size);
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Extent channel = 0; channel < channels; ++channel) {
    const Extent first = std::max<Extent>(channel - (size - 1) / 2, 0);
    const Extent last = std::min<Extent>(channel + size / 2, channels - 1);
    node.graph().budget().take(static_cast<std::size_t>(last - first + 1) * (sizeof(Index) + sizeof(float)));
    for (Extent other = first; other <= last && weight != 0; ++other) indices.push_back(static_cast<Index>(other));
    offsets.push_back(indices.size());
  }
  std::vector<float> values(indices.size(), weight);
  Convolution sums;
  sums.weights = make_csr(static_cast<Index>(channels), static_cast<Index>(channels), std::move(offsets),
                          std::move(indices), std::move(values));
  sums.bias.assign(static_cast<std::size_t>(channels), node.real("bias", 1));
  const ValueId x = node.value(0);
  const ValueId sum = node.add(std::move(sums), {square(node, x)});
  const ValueId divisor = combined_with(node, Both::power, sum, node.real("beta", 0.75F));
  node.set_output(combined(node, Both::divide, x, divisor));
}

}  // namespace spdnn::onnx_reader
