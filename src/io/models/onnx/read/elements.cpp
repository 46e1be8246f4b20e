// Batch normalisation, activations and Softmax.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kHighest = std::numeric_limits<float>::max();

/// Crossed bounds: all elements become the upper bound.
Activation clip_of(float low, float high) {
  return {.kind = Activation::Kind::clip, .low = std::min(low, high), .high = high};
}

void activate(NodeReader& node, Activation activation) { node.set_output(std::move(activation), {node.value(0)}); }

std::vector<float> per_channel(NodeReader& node, std::size_t i, Extent channels) {
  const std::span<const float> numbers = node.floats(i);
  if (!std::in_range<Extent>(numbers.size()) || static_cast<Extent>(numbers.size()) != channels)
    node.fail_input(i, fmt::format("{} numbers for {} channels", numbers.size(), channels));
  node.graph().budget().take(numbers.size_bytes());
  return {numbers.begin(), numbers.end()};
}

/// A bound of Clip: NaN is refused, infinities become the largest fp32 numbers.
float clip_bound(NodeReader& node, float number) {
  if (std::isnan(number)) node.fail("a bound is NaN");
  return std::clamp(number, kLowest, kHighest);
}

/// Whether the slope has one number per channel (axis 1); false if it has one for all.
bool is_by_channel(const Shape& slope, const Shape& input) {
  const std::size_t rank = input.size();
  if (slope.size() > rank) return false;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    const std::size_t axis = rank - slope.size() + i;
    if (slope[i] != 1 && (axis != 1 || slope[i] != input[1])) return false;
  }
  return true;
}

}  // namespace

void read_batch_normalization(NodeReader& node) {
  node.ignore("momentum");
  if (node.opset() < 7) node.require("is_test", 1, "only 1 (inference)");
  if (node.opset() < 7 && !node.has("is_test")) node.fail("attribute is_test is missing, which means training");
  if (node.opset() < 9) node.require("spatial", 1, "only 1 (one mean per channel)");
  if (node.opset() >= 14) node.require("training_mode", 0, "only 0 (inference)");
  const Shape& shape = node.shape(0);
  if (shape.size() < 2)
    node.fail_input(0, fmt::format("its shape is {}; expected N x C or more axes", shape_text(shape)));
  BatchNorm norm{.scale = per_channel(node, 1, shape[1]),
                 .shift = per_channel(node, 2, shape[1]),
                 .mean = per_channel(node, 3, shape[1]),
                 .variance = per_channel(node, 4, shape[1]),
                 .epsilon = node.real("epsilon", 1e-5F)};
  for (const float variance : norm.variance)
    if (!(variance + norm.epsilon > 0))
      node.fail_input(4, fmt::format("variance {} with epsilon {} has no real root", variance, norm.epsilon));
  node.set_output(std::move(norm), {node.value(0)});
}

void read_clip(NodeReader& node) {
  float low = kLowest;
  float high = kHighest;
  if (node.opset() < 11) {
    if (node.inputs() > 1) node.fail("bounds are attributes before operator set 11");
    low = node.real("min", kLowest);
    high = node.real("max", kHighest);
  } else {
    if (node.has_input(1)) low = clip_bound(node, node.scalar(1));
    if (node.has_input(2)) high = clip_bound(node, node.scalar(2));
  }
  activate(node, clip_of(low, high));
}

void read_leaky_relu(NodeReader& node) {
  activate(node, {.kind = Activation::Kind::leaky_relu, .alpha = node.real("alpha", 0.01F)});
}

void read_hard_sigmoid(NodeReader& node) {
  activate(
      node,
      {.kind = Activation::Kind::hard_sigmoid, .alpha = node.real("alpha", 0.2F), .beta = node.real("beta", 0.5F)});
}

void read_prelu(NodeReader& node) {
  const Shape shape = node.shape(0);
  Shape slope = node.shape(1);
  // Before set 7 a list of numbers means one per channel.
  const bool listed = node.opset() < 7 && slope.size() == 1 && shape.size() >= 2 && slope[0] == shape[1];
  if (node.constant_or_null(1) != nullptr && shape.size() >= 2 && (listed || is_by_channel(slope, shape))) {
    const std::span<const float> alphas = node.floats(1);
    node.graph().budget().take(alphas.size_bytes());
    return activate(node, {.kind = Activation::Kind::prelu, .alphas = {alphas.begin(), alphas.end()}});
  }
  // Uses max(0, x) + slope min(0, x), where one term is always zero.
  const ValueId x = node.value(0);
  const ValueId above = node.add(Activation{}, {x});
  const ValueId below = node.add(clip_of(kLowest, 0), {x});
  const ValueId product = node.add(Elementwise{Elementwise::Kind::multiply}, {below, node.value(1)});
  const ValueId sum = node.add(Elementwise{Elementwise::Kind::add}, {above, product});
  if (node.graph().shape(sum) != shape)
    node.fail_input(1, fmt::format("slopes of shape {} for an input of {}", shape_text(slope), shape_text(shape)));
  node.set_output(sum);
}

void read_softmax(NodeReader& node) {
  const Shape shape = node.shape(0);
  const bool of_one_axis = node.opset() >= 13;
  const std::int64_t given = node.integer("axis", of_one_axis ? -1 : 1);
  if (shape.empty()) node.fail_input(0, "it has no axes");
  // Before set 13 this axis and all later ones are treated as one axis, and it may equal the rank.
  const std::size_t axis = node.axis("attribute axis", given, shape.size() + (of_one_axis || given < 0 ? 0 : 1));
  const auto single = [](Extent extent) { return extent == 1; };
  if (of_one_axis ||
      (axis < shape.size() && std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end(), single)))
    return node.set_output(Softmax{static_cast<Index>(axis)}, {node.value(0)});
  const ValueId flat = reshaped(node, node.value(0), flattened(node, shape, axis));
  node.set_output(reshaped(node, node.add(Softmax{1}, {flat}), shape));
}

}  // namespace spdnn::onnx_reader
