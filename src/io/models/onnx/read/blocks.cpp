// Operators that move blocks of pixels, or repeat elements: DepthToSpace, SpaceToDepth, Expand, Tile.

#include <fmt/format.h>

#include <algorithm>

#include "io/models/onnx/read/combined.hpp"
#include "io/models/onnx/read/fold.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"
#include "io/models/parts.hpp"

namespace spdnn::onnx_reader {

namespace {

using Both = Elementwise::Kind;

Extent read_block(NodeReader& node) {
  const Shape& shape = node.shape(0);
  if (shape.size() != 4) node.fail_input(0, fmt::format("its shape is {}; expected N x C x H x W", shape_text(shape)));
  const std::int64_t block = node.integer("blocksize", 0);
  if (block < 1 || block > std::int64_t{1} << 15U) node.fail_attribute("blocksize", fmt::format("{}", block));
  return block;
}

/// The lengths of a list that is a constant, among which kImages may stand for the number of images.
std::vector<std::int64_t> lengths(NodeReader& node, std::size_t input) {
  const Constant& list = node.constant(input);
  if (!list.integers() || list.shape.size() != 1) node.fail_input(input, "expected a list of integers");
  if (list.size() > kMostAxes) node.fail_input(input, fmt::format("{} axes are more than {}", list.size(), kMostAxes));
  return {list.ints().begin(), list.ints().end()};
}

/// An axis several times over.
ValueId repeated(NodeReader& node, ValueId value, std::size_t axis, std::int64_t times) {
  if (times == 1) return value;
  const auto count = static_cast<std::size_t>(times);
  node.graph().budget().take(count * sizeof(Node));  // parts are checked as often as nodes
  return node.add(Concat{static_cast<Index>(axis)}, std::vector<ValueId>(count, value));
}

/// Zeros of the shape N x 1 x ... with as many axes: an element of each image, clipped to 0, since nothing but an input
/// has as many elements as there are images.
ValueId zero_of_each_image(NodeReader& node, std::size_t axes) {
  const Model& model = node.graph().model();
  const auto input = std::find_if(model.inputs.begin(), model.inputs.end(), [&](ValueId id) {
    return !model.values[id].shape.empty() && model.values[id].shape[0] == kBatchExtent;
  });
  if (input == model.inputs.end()) node.fail_input(1, "no input has a batch of open length");
  ValueId element = *input;
  for (std::size_t axis = 1; axis < node.graph().shape(*input).size(); ++axis)
    element = cropped(node, element, axis, 0, 1);
  Shape shape(axes, 1);
  shape[0] = kBatchExtent;
  element = reshaped(node, element, shape);
  return node.add(Activation{.kind = Activation::Kind::clip, .low = 0, .high = 0}, {element});
}

}  // namespace

void read_depth_to_space(NodeReader& node) {
  const Extent block = read_block(node);
  const Shape shape = node.shape(0);
  const std::string mode = node.opset() < 11 ? "DCR" : node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.fail_attribute("mode", fmt::format("'{}' is neither DCR nor CRD", mode));
  if (shape[1] % (block * block) != 0)
    node.fail_attribute("blocksize", fmt::format("{} x {} does not divide {} channels", block, block, shape[1]));
  const Extent channels = shape[1] / (block * block);
  const bool depth_first = mode == "DCR";
  const Shape apart = depth_first ? Shape{shape[0], block, block, channels, shape[2], shape[3]}
                                  : Shape{shape[0], channels, block, block, shape[2], shape[3]};
  const Transpose order = depth_first ? Transpose{{0, 3, 4, 1, 5, 2}} : Transpose{{0, 1, 4, 2, 5, 3}};
  const ValueId moved = node.add(order, {reshaped(node, node.value(0), apart)});
  node.set_output(reshaped(node, moved, {shape[0], channels, shape[2] * block, shape[3] * block}));
}

void read_space_to_depth(NodeReader& node) {
  const Extent block = read_block(node);
  const Shape shape = node.shape(0);
  if (shape[2] % block != 0 || shape[3] % block != 0)
    node.fail_attribute("blocksize", fmt::format("{} does not divide {} x {} pixels", block, shape[2], shape[3]));
  const Shape apart{shape[0], shape[1], shape[2] / block, block, shape[3] / block, block};
  const ValueId moved = node.add(Transpose{{0, 3, 5, 1, 2, 4}}, {reshaped(node, node.value(0), apart)});
  node.set_output(reshaped(node, moved, {shape[0], shape[1] * block * block, shape[2] / block, shape[3] / block}));
}

/// A product with ones of the shape to which axes of length 1 are repeated. For as many images as there are, which only
/// axis 0 can have, it is also added to a zero of each.
void read_expand(NodeReader& node) {
  const Constant* const constant = node.constant_or_null(0);
  const Shape shape = constant != nullptr ? constant->shape : node.shape(0);
  Shape ones;
  const std::vector<std::int64_t> wanted = lengths(node, 1);
  bool for_each_image = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t ahead = wanted.size() - i;  // axes from here to the end
    const Extent own = ahead <= shape.size() ? shape[shape.size() - ahead] : 1;
    const bool by_images = wanted[i] == kImages && i == 0 && ahead >= shape.size() && own == 1;
    for_each_image |= by_images;
    const bool kept = wanted[i] == own || wanted[i] == 1 || by_images || (wanted[i] == kImages && own == kBatchExtent);
    if (!kept && (own != 1 || wanted[i] < 1))
      node.fail_input(1, fmt::format("axis {} of {} cannot get the length {}", i, shape_text(shape),
                                     wanted[i] == kImages ? "of the batch; give the batch a fixed size"
                                                          : fmt::format("{}", wanted[i])));
    ones.push_back(kept ? 1 : wanted[i]);
  }
  const auto count = elements(ones);
  if (!count || *count > std::numeric_limits<std::size_t>::max() / 16) node.fail_input(1, "the result is too large");
  node.graph().budget().take(*count * sizeof(std::int64_t));
  if (constant != nullptr && constant->integers()) {
    if (for_each_image) node.fail_input(0, "integers cannot be repeated for each image; give the batch a fixed size");
    return node.set_output(combined_constants(node, Both::multiply, *constant,
                                              {ones, Array<std::int64_t>(std::vector<std::int64_t>(*count, 1))}));
  }
  ValueId result = node.value(0);
  if (*count > 1 || ones.size() > shape.size()) {
    const ValueId by = node.add_constant({ones, Array<float>(std::vector<float>(*count, 1))});
    result = combined(node, Both::multiply, result, by);
  }
  if (for_each_image) result = combined(node, Both::add, zero_of_each_image(node, ones.size()), result);
  node.set_output(result);
}

void read_tile(NodeReader& node) {
  const Constant* const given = node.constant_or_null(0);
  const Shape shape = given != nullptr ? given->shape : node.shape(0);
  const std::span<const std::int64_t> times = node.ints(1);
  if (times.size() != shape.size())
    node.fail_input(1, fmt::format("{} numbers for {} axes", times.size(), shape.size()));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (times[axis] < 1 || times[axis] > std::int64_t{kMaxIndex})
      node.fail_input(1, fmt::format("{} is outside 1..{}", times[axis], kMaxIndex));
    if (times[axis] != 1 && shape[axis] == kBatchExtent)
      node.fail_input(1, "the batch axis cannot be repeated; give the batch a fixed size");
  }
  if (given == nullptr) {
    ValueId value = node.value(0);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) value = repeated(node, value, axis, times[axis]);
    return node.set_output(value);
  }
  Constant result = *given;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (times[axis] == 1) continue;
    const auto count = static_cast<std::size_t>(times[axis]);
    if (result.bytes() > 0 && count > std::numeric_limits<std::size_t>::max() / 16 / result.bytes())
      node.fail("the result is too large");
    node.graph().budget().take(count * (result.bytes() + sizeof(void*)));
    result = joined(std::vector<const Constant*>(count, &result), axis);
  }
  node.set_output(std::move(result));
}

}  // namespace spdnn::onnx_reader
