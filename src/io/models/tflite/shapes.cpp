// Operators that move, concatenate or repeat elements.

#include <fmt/format.h>

#include <algorithm>

#include "io/models/tflite/operators.hpp"

namespace spdnn::tflite_reader {

namespace {

/// Reshape's target shape.
std::vector<std::int64_t> target_shape(OperatorReader& op) {
  if (op.has_input(1)) return op.integers(1);
  const auto& options = op.needed<tflite::ReshapeOptions>();
  if (options.new_shape() == nullptr || options.new_shape()->size() > kMostAxes)
    op.fail(fmt::format("new_shape is missing, or has more than {} axes", kMostAxes));
  return {options.new_shape()->begin(), options.new_shape()->end()};
}

void read_resize(OperatorReader& op, Resize resize, bool align_corners, bool half_pixel) {
  const ValueId x = op.images(0);
  const std::vector<std::int64_t> size = op.integers(1);
  if (size.size() != 2) op.fail_input(1, "expected two numbers, H and W");
  if (align_corners && half_pixel) op.fail("align_corners and half_pixel_centers exclude each other");
  resize.place = align_corners ? Resize::Place::align_corners
                               : (half_pixel ? Resize::Place::half_pixel : Resize::Place::asymmetric);
  resize.rounding = align_corners || half_pixel ? Resize::Rounding::half_up : Resize::Rounding::down;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (size[axis] < 1 || size[axis] > std::int64_t{kMaxIndex})
      op.fail_input(1, fmt::format("{} is outside 1..{}", size[axis], kMaxIndex));
    resize.size[axis] = size[axis];
    resize.scale[axis] = static_cast<float>(size[axis]) / static_cast<float>(op.shape(x)[2 + axis]);
  }
  op.set_output(op.add(resize, {x}));
}

}  // namespace

void read_concatenation(OperatorReader& op) {
  const auto& options = op.needed<tflite::ConcatenationOptions>();
  std::size_t rank = 0;
  for (std::size_t i = 0; i < op.inputs(); ++i) rank = std::max(rank, op.rank(i));
  const std::int64_t axis = options.axis() + (options.axis() < 0 ? static_cast<std::int64_t>(rank) : 0);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
    op.fail(fmt::format("axis {} is outside the {} axes", options.axis(), rank));
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < op.inputs(); ++i) values.push_back(op.value(i, rank));
  const Concat concat{axis_of_value(static_cast<std::size_t>(axis), rank)};
  op.set_output(op.add(concat, std::move(values)), options.fused_activation_function());
}

void read_pad(OperatorReader& op) {
  const ValueId x = op.value(0);
  const std::size_t rank = op.shape(x).size();
  const std::vector<std::int64_t> pads = op.integers(1);
  if (pads.size() != 2 * rank)
    op.fail_input(1, fmt::format("{} numbers for {} axes, which need two each", pads.size(), rank));
  Pad pad;
  pad.begin.resize(rank);
  pad.end.resize(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    pad.begin[axis_of_value(axis, rank)] = pads[2 * axis];
    pad.end[axis_of_value(axis, rank)] = pads[2 * axis + 1];
  }
  op.set_output(op.add(std::move(pad), {x}));
}

void read_reshape(OperatorReader& op) {
  const ValueId x = op.value(0);
  const Shape from = op.shape(x);
  std::vector<std::int64_t> to = target_shape(op);
  if (to.size() > kMostAxes || std::count(to.begin(), to.end(), -1) > 1 ||
      std::any_of(to.begin(), to.end(), [](std::int64_t n) { return n == 0 || n < -1 || n > std::int64_t{kMaxIndex}; }))
    op.fail(fmt::format("the new shape has lengths outside 1..{}, or more than one -1", kMaxIndex));
  // An axis 0 that keeps the file's batch size is the batch axis.
  const auto* stated = op.graph().tensor(op.input(0)).shape();
  if (!to.empty() && !from.empty() && stated != nullptr && stated->size() > 0 && to[0] == stated->Get(0))
    to[0] = from[0];
  const bool open = !from.empty() && from[0] == kBatchExtent;
  Shape each = to;  // the shape of one image, if the batch axis is kept
  if (open && !each.empty() && each[0] == -1) each[0] = 1;
  const auto rest = std::find(each.begin(), each.end(), -1);
  if (rest != each.end()) {
    *rest = 1;
    const Offset have = *elements(with_batch(from, 1));
    const auto others = elements(each);
    if (!others || have % *others != 0)
      op.fail(fmt::format("{} cannot be split into {} elements for each open axis", shape_text(from),
                          others ? std::to_string(*others) : "too many"));
    *rest = static_cast<Extent>(have / *others);
  }
  if (open && !to.empty() && to[0] == -1) each[0] = kBatchExtent;
  op.set_output(op.in_file_order(x, each));
}

void read_resize_bilinear(OperatorReader& op) {
  const auto& options = op.needed<tflite::ResizeBilinearOptions>();
  Resize resize{.kind = Resize::Kind::linear};
  read_resize(op, resize, options.align_corners(), options.half_pixel_centers());
}

void read_resize_nearest_neighbor(OperatorReader& op) {
  const auto& options = op.needed<tflite::ResizeNearestNeighborOptions>();
  read_resize(op, Resize{}, options.align_corners(), options.half_pixel_centers());
}

void read_space_to_depth(OperatorReader& op) {
  const ValueId x = op.images(0);
  const Shape from = op.shape(x);
  const Extent block = op.needed<tflite::SpaceToDepthOptions>().block_size();
  if (block < 1 || block > Extent{1} << 15U || from[2] % block != 0 || from[3] % block != 0)
    op.fail(fmt::format("block_size {} does not divide {} x {} pixels", block, from[2], from[3]));
  const ValueId split = op.add(Reshape{{from[0], from[1], from[2] / block, block, from[3] / block, block}}, {x});
  const ValueId moved = op.add(Transpose{{0, 3, 5, 1, 2, 4}}, {split});
  op.set_output(op.add(Reshape{{from[0], from[1] * block * block, from[2] / block, from[3] / block}}, {moved}));
}

void read_depth_to_space(OperatorReader& op) {
  const ValueId x = op.images(0);
  const Shape from = op.shape(x);
  const Extent block = op.needed<tflite::DepthToSpaceOptions>().block_size();
  if (block < 1 || block > Extent{1} << 15U || from[1] % (block * block) != 0)
    op.fail(fmt::format("block_size {} does not divide {} channels", block, from[1]));
  // A pixel's channels are ordered, outermost first: row in the block, column in the block, channel of the result.
  const Extent channels = from[1] / (block * block);
  const ValueId split = op.add(Reshape{{from[0], block, block, channels, from[2], from[3]}}, {x});
  const ValueId moved = op.add(Transpose{{0, 3, 4, 1, 5, 2}}, {split});
  op.set_output(op.add(Reshape{{from[0], channels, from[2] * block, from[3] * block}}, {moved}));
}

}  // namespace spdnn::tflite_reader
