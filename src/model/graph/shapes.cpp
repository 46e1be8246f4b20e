// Which shapes operations make of those of their inputs. kBatchExtent stands on axis 0 or nowhere, and flows through
// every operation that keeps the images apart; one that does not is refused.

#include <algorithm>

#include "core/counted.hpp"
#include "model/graph/node_text.hpp"
#include "model/operations/geometry.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

namespace {

[[noreturn]] void refuse(const std::string& problem) { throw UsageError(problem); }

bool has_batch(const Shape& shape) { return !shape.empty() && shape[0] == kBatchExtent; }

Extent checked_axis(Index axis, const Shape& shape) {
  if (axis >= shape.size()) refuse("axis " + std::to_string(axis) + " does not exist in " + shape_text(shape));
  return axis;
}

void require_images(const Shape& shape) {
  if (shape.size() != 3 && shape.size() != 4)
    refuse("takes images N x C x H x W or sequences N x C x W, not " + shape_text(shape));
}

void require_window(const Window& window, const Shape& shape) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto fits = [](Index value) { return value > 0 && value <= kMaxIndex; };
    if (!fits(window.kernel[axis]) || !fits(window.stride[axis]) || !fits(window.dilation[axis]))
      refuse("kernel, stride and dilation must be in 1 .. 2^31-1");
    if (window.pad_begin[axis] > kMaxIndex || window.pad_end[axis] > kMaxIndex) refuse("padding exceeds 2^31-1");
  }
  if (shape.size() == 3 && (window.kernel[0] != 1 || window.pad_begin[0] != 0 || window.pad_end[0] != 0))
    refuse("a window with height cannot move over sequences: " + shape_text(shape));
}

/// The extent of H (0) or W (1) that windows make of an input's.
Extent output_extent(const Window& window, std::size_t axis, const Shape& shape, bool round_up = false) {
  const auto count = window_count(window, axis, image_extents(shape).spatial(axis), round_up);
  if (!count)
    refuse("a window of " + std::to_string(window.kernel[0]) + " x " + std::to_string(window.kernel[1]) +
           ", dilated by " + std::to_string(window.dilation[0]) + " x " + std::to_string(window.dilation[1]) +
           ", does not fit into " + shape_text(shape) + " with its padding");
  return *count;
}

/// A maximum or a mean of nothing has no value: each window must meet the image.
void require_content(const Pool& pool, std::size_t axis, Extent length, Extent count) {
  const Window& window = pool.window;
  const auto meets = [&](Extent number) {
    const Extent first = tap_position(window, axis, number, 0);
    const Extent dilation = window.dilation[axis];
    const Extent skipped = first >= 0 ? 0 : (-first + dilation - 1) / dilation;  // taps before the image
    return skipped < Extent{window.kernel[axis]} && first + skipped * dilation < length;
  };
  // Windows that begin in the image meet it. Of those that begin before it, the later ones skip fewer taps, and the
  // first tap that is not skipped lies at one of `dilation` positions, which repeat.
  const Extent outside = (Extent{window.pad_begin[axis]} + window.stride[axis] - 1) / window.stride[axis];
  for (Extent number = 0; number < std::min({count, outside, Extent{window.dilation[axis]}}); ++number)
    if (!meets(number)) refuse("a window of the pool lies in the padding alone");
  if (!meets(count - 1)) refuse("a window of the pool lies in the padding alone");
}

class ShapeMaker {
 public:
  explicit ShapeMaker(const std::vector<Shape>& inputs) : inputs_(inputs) {}

  Shape operator()(const Convolution& convolution) const {
    const Shape& x = only_images();
    require_window(convolution.window, x);
    const Offset taps = Offset{convolution.window.kernel[0]} * convolution.window.kernel[1];
    const Offset read = Offset{convolution.weights.cols} / taps * convolution.groups;
    if (static_cast<Offset>(x[1]) != read)
      refuse("filters of " + std::to_string(read) + " channels do not fit " + shape_text(x));
    return with_image_extents(x, convolution.weights.rows, output_extent(convolution.window, 0, x),
                              output_extent(convolution.window, 1, x));
  }
  Shape operator()(const Linear& linear) const {
    Shape shape = only();
    if (shape.empty() || shape.back() != Extent{linear.weights.cols})
      refuse("weights of " + std::to_string(linear.weights.cols) + " inputs do not fit " + shape_text(shape));
    shape.back() = linear.weights.rows;
    return shape;
  }
  Shape operator()(const BatchNorm& norm) const {
    const Shape& shape = only();
    if (shape.size() < 2 || shape[1] != static_cast<Extent>(norm.scale.size()))
      refuse(std::to_string(norm.scale.size()) + " channels do not fit " + shape_text(shape));
    return shape;
  }
  Shape operator()(const Pool& pool) const {
    const Shape& x = only_images();
    require_window(pool.window, x);
    const ImageExtents extents = image_extents(x);
    std::array<Extent, 2> counts{};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      counts[axis] = output_extent(pool.window, axis, x, pool.round_up);
      require_content(pool, axis, extents.spatial(axis), counts[axis]);
    }
    return with_image_extents(x, extents.channels, counts[0], counts[1]);
  }
  Shape operator()(const GlobalPool&) const {
    const Shape& x = only_images();
    if (image_extents(x).pixels() == 0) refuse("there is nothing to pool in " + shape_text(x));
    return with_image_extents(x, x[1], 1, 1);
  }
  Shape operator()(const Activation& activation) const {
    const Shape& shape = only();
    if (activation.kind == Activation::Kind::prelu && activation.alphas.size() != 1 &&
        (shape.size() < 2 || shape[1] != static_cast<Extent>(activation.alphas.size())))
      refuse(std::to_string(activation.alphas.size()) + " slopes do not fit " + shape_text(shape));
    return shape;
  }
  Shape operator()(const Elementwise&) const {
    require_inputs(2);
    const auto mismatch = [&] { refuse(shape_text(inputs_[0]) + " and " + shape_text(inputs_[1]) + " do not fit"); };
    const bool first_is_longer = inputs_[0].size() >= inputs_[1].size();
    Shape shape = inputs_[first_is_longer ? 0 : 1];
    const Shape& other = inputs_[first_is_longer ? 1 : 0];
    const std::size_t ahead = shape.size() - other.size();
    if (ahead > 0 && has_batch(other)) mismatch();
    for (std::size_t axis = 0; axis < other.size(); ++axis) {
      Extent& extent = shape[ahead + axis];
      if (extent == 1)
        extent = other[axis];
      else if (other[axis] != extent && other[axis] != 1)
        mismatch();
    }
    return shape;
  }
  Shape operator()(const Concat& concat) const {
    if (inputs_.empty()) refuse("has no inputs");
    Shape shape = inputs_[0];
    const auto axis = static_cast<std::size_t>(checked_axis(concat.axis, shape));
    if (axis == 0 && has_batch(shape)) refuse("cannot join batches along axis 0");
    shape[axis] = 0;
    for (const Shape& input : inputs_) {
      const auto fits = [&](std::size_t i) { return i == axis || input[i] == inputs_[0][i]; };
      bool equal = input.size() == shape.size();
      for (std::size_t i = 0; equal && i < input.size(); ++i) equal = fits(i);
      if (!equal)
        refuse(shape_text(inputs_[0]) + " and " + shape_text(input) + " do not fit along axis " +
               std::to_string(concat.axis));
      shape[axis] += input[axis];
    }
    return shape;
  }
  Shape operator()(const Softmax& softmax) const {
    const Shape& shape = only();
    if (checked_axis(softmax.axis, shape) == 0 && has_batch(shape))
      refuse("axis 0 is the batch of " + shape_text(shape));
    return shape;
  }
  Shape operator()(const Reshape& reshape) const {
    Shape shape = reshape.shape;
    Shape input = only();
    const auto mismatch = [&] { refuse(shape_text(only()) + " cannot become " + shape_text(reshape.shape)); };
    if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent < kBatchExtent; })) mismatch();
    if (std::count(shape.begin(), shape.end(), kBatchExtent) > 1) refuse("more than one extent is left open");
    const bool batch = has_batch(input);
    if (batch) {  // images stay apart: each keeps its elements
      if (!has_batch(shape)) mismatch();
      input[0] = 1;
      shape[0] = 1;
    }
    const auto open = std::find(shape.begin(), shape.end(), kBatchExtent);
    if (open != shape.end()) *open = 1;
    const auto have = elements(input);
    const auto want = elements(shape);
    if (!have || !want) mismatch();
    if (open != shape.end()) {
      if (*want == 0 || *have % *want != 0) mismatch();
      *open = static_cast<Extent>(*have / *want);
    } else if (*have != *want) {
      mismatch();
    }
    if (batch) shape[0] = kBatchExtent;
    return shape;
  }
  Shape operator()(const Transpose& transpose) const {
    const Shape& input = only();
    std::vector<Index> sorted = transpose.order;
    std::sort(sorted.begin(), sorted.end());
    bool permutation = sorted.size() == input.size();
    for (std::size_t axis = 0; permutation && axis < sorted.size(); ++axis) permutation = sorted[axis] == axis;
    if (!permutation) refuse("the order of axes does not fit " + shape_text(input));
    if (has_batch(input) && transpose.order[0] != 0) refuse("the batch must stay axis 0 of " + shape_text(input));
    Shape shape;
    for (const Index axis : transpose.order) shape.push_back(input[axis]);
    return shape;
  }
  Shape operator()(const Pad& pad) const {
    Shape shape = only();
    if (pad.begin.size() != shape.size() || pad.end.size() != shape.size())
      refuse(std::to_string(pad.begin.size()) + " axes of padding do not fit " + shape_text(shape));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto [least, most] = std::minmax(pad.begin[axis], pad.end[axis]);
      if (least < -Extent{kMaxIndex} || most > Extent{kMaxIndex}) refuse("padding must be in -(2^31-1) .. 2^31-1");
      if ((least != 0 || most != 0) && shape[axis] == kBatchExtent) refuse("the batch cannot be padded");
      shape[axis] += least + most;
      if (least < 0 && shape[axis] < 1)
        refuse("nothing is left of axis " + std::to_string(axis) + " of " + shape_text(only()));
    }
    return shape;
  }
  Shape operator()(const Resize& resize) const {
    const Shape& x = only_images();
    if (resize.size[0] < 1 || resize.size[1] < 1 || image_extents(x).pixels() == 0)
      refuse("there is nothing to resize: " + shape_text(x));
    if (x.size() == 3 && resize.size[0] != 1) refuse("a sequence has no height to resize: " + shape_text(x));
    return with_image_extents(x, x[1], resize.size[0], resize.size[1]);
  }

 private:
  void require_inputs(std::size_t count) const {
    if (inputs_.size() != count)
      refuse("takes " + counted(count, "input", "inputs") + ", not " + std::to_string(inputs_.size()));
  }
  const Shape& only() const {
    require_inputs(1);
    return inputs_[0];
  }
  const Shape& only_images() const {
    require_images(only());
    return inputs_[0];
  }

  const std::vector<Shape>& inputs_;
};

/// Shapes have a length that can be computed with, and a batch on axis 0 alone.
void require_shape(const Shape& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent < kBatchExtent; }) ||
      std::count(shape.begin(), shape.end(), kBatchExtent) > (has_batch(shape) ? 1 : 0))
    refuse("the batch can be axis 0 alone: " + shape_text(shape));
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent > Extent{kMaxIndex}; }) ||
      !elements(with_batch(shape, 1)))
    refuse("one image is too large: " + shape_text(shape));
}

}  // namespace

Shape output_shape(const Operation& operation, const std::vector<Shape>& inputs) {
  Shape shape = std::visit(ShapeMaker(inputs), operation);
  require_shape(shape);
  return shape;
}

void infer_shapes(Model& model) {
  for (const ValueId input : model.inputs) require_shape(model.values[input].shape);
  for (Value& value : model.values)
    if (value.constant) value.shape = value.constant->shape;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    std::vector<Shape> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(model.values[input].shape);
    try {
      model.values[node.output].shape = output_shape(node.operation, inputs);
    } catch (const UsageError& error) {
      throw UsageError(node_text(model, n) + ": " + error.what());
    }
  }
}

}  // namespace spdnn
