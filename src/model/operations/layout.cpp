// Operations that move elements: concat, reshape, transpose, pad and resize.

#include <algorithm>

#include "core/types/shape.hpp"
#include "model/operations/geometry.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"

namespace spdnn::rules {

namespace {

/// The place of an element along an axis.
Extent along(std::size_t element, std::size_t stride, Extent extent) {
  return static_cast<Extent>(element / stride) % extent;
}

void copy(const Bounded& x, std::size_t from, Bounded& y, std::size_t to) {
  set(y, to, {x.values[from], x.bounds[from]});
}

}  // namespace

std::string_view name(const Concat& /*operation*/) { return "concat"; }

void check(const Concat& /*operation*/) {}

Shape shape(const Concat& concat, const std::vector<Shape>& inputs) {
  if (inputs.empty()) refuse("has no inputs");
  Shape shape = inputs[0];
  const auto axis = static_cast<std::size_t>(checked_axis(concat.axis, shape));
  if (axis == 0 && has_batch(shape)) refuse("cannot join batches along axis 0");
  shape[axis] = 0;
  for (const Shape& input : inputs) {
    const auto fits = [&](std::size_t i) { return i == axis || input[i] == inputs[0][i]; };
    bool equal = input.size() == shape.size();
    for (std::size_t i = 0; equal && i < input.size(); ++i) equal = fits(i);
    if (!equal)
      refuse(shape_text(inputs[0]) + " and " + shape_text(input) + " do not fit along axis " +
             std::to_string(concat.axis));
    shape[axis] += input[axis];
  }
  return shape;
}

void evaluate(const Concat& concat, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const std::size_t inner = strides_of(y.shape)[concat.axis];
  const std::size_t row = inner * static_cast<std::size_t>(y.shape[concat.axis]);
  std::size_t begin = 0;
  for (const Bounded* input : inputs) {
    const std::size_t part = inner * static_cast<std::size_t>(input->shape[concat.axis]);
    for (std::size_t i = 0; i < input->values.size(); ++i) copy(*input, i, y, i / part * row + begin + i % part);
    begin += part;
  }
}

Magnitude magnitude(const Concat& /*operation*/, const Operands& operands) {
  return all_at_most(*std::max_element(operands.largest.begin(), operands.largest.end()));
}

std::string_view name(const Reshape& /*operation*/) { return "reshape"; }

void check(const Reshape& /*operation*/) {}

Shape shape(const Reshape& reshape, const std::vector<Shape>& inputs) {
  Shape shape = reshape.shape;
  Shape input = only(inputs);
  const auto mismatch = [&] { refuse(shape_text(only(inputs)) + " cannot become " + shape_text(reshape.shape)); };
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

void evaluate(const Reshape& /*operation*/, const std::vector<const Bounded*>& inputs, Bounded& y) {
  y.values = inputs[0]->values;
  y.bounds = inputs[0]->bounds;
  y.terms = inputs[0]->terms;
}

Magnitude magnitude(const Reshape& /*operation*/, const Operands& operands) { return all_at_most(operands.largest[0]); }

std::string_view name(const Transpose& /*operation*/) { return "transpose"; }

void check(const Transpose& /*operation*/) {}

Shape shape(const Transpose& transpose, const std::vector<Shape>& inputs) {
  const Shape& input = only(inputs);
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

void evaluate(const Transpose& transpose, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  y.terms = x.terms;
  const std::vector<Extent> from = strides_of(x.shape);
  const std::vector<Extent> to = strides_of(y.shape);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    std::size_t source = 0;
    for (std::size_t axis = 0; axis < to.size(); ++axis)
      source += static_cast<std::size_t>(along(i, to[axis], y.shape[axis])) * from[transpose.order[axis]];
    copy(x, source, y, i);
  }
}

Magnitude magnitude(const Transpose& /*operation*/, const Operands& operands) {
  return all_at_most(operands.largest[0]);
}

std::string_view name(const Pad& /*operation*/) { return "pad"; }

void check(const Pad& pad) { require_finite({pad.value}, "its value"); }

Shape shape(const Pad& pad, const std::vector<Shape>& inputs) {
  Shape shape = only(inputs);
  if (pad.begin.size() != shape.size() || pad.end.size() != shape.size())
    refuse(std::to_string(pad.begin.size()) + " axes of padding do not fit " + shape_text(shape));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto [least, most] = std::minmax(pad.begin[axis], pad.end[axis]);
    if (least < -Extent{kMaxIndex} || most > Extent{kMaxIndex}) refuse("padding must be in -(2^31-1) .. 2^31-1");
    if ((least != 0 || most != 0) && shape[axis] == kBatchExtent) refuse("the batch cannot be padded");
    shape[axis] += least + most;
    if (least < 0 && shape[axis] < 1)
      refuse("nothing is left of axis " + std::to_string(axis) + " of " + shape_text(only(inputs)));
  }
  return shape;
}

void evaluate(const Pad& pad, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  std::fill(y.values.begin(), y.values.end(), double{pad.value});
  const std::vector<Extent> from = strides_of(x.shape);
  const std::vector<Extent> to = strides_of(y.shape);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    std::size_t target = 0;
    bool kept = true;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      const Extent place = along(i, from[axis], x.shape[axis]) + pad.begin[axis];
      kept = kept && place >= 0 && place < y.shape[axis];
      target += static_cast<std::size_t>(place) * to[axis];
    }
    if (kept) copy(x, i, y, target);
  }
}

Magnitude magnitude(const Pad& pad, const Operands& operands) {
  return all_at_most(std::max(operands.largest[0], std::abs(double{pad.value})));
}

std::string_view name(const Resize& /*operation*/) { return "resize"; }

void check(const Resize& resize) {
  for (const float scale : resize.scale)
    if (!std::isnormal(scale) || scale < 0) invalid("its scale must be a positive number");
}

Shape shape(const Resize& resize, const std::vector<Shape>& inputs) {
  const Shape& x = only_images(inputs);
  if (resize.size[0] < 1 || resize.size[1] < 1 || image_extents(x).pixels() == 0)
    refuse("there is nothing to resize: " + shape_text(x));
  if (x.size() == 3 && resize.size[0] != 1) refuse("a sequence has no height to resize: " + shape_text(x));
  return with_image_extents(x, x[1], resize.size[0], resize.size[1]);
}

void evaluate(const Resize& resize, const std::vector<const Bounded*>& inputs, Bounded& y) {
  const Bounded& x = *inputs[0];
  const ImageExtents in = image_extents(x.shape);
  const ImageExtents out = image_extents(y.shape);
  parallel_for(static_cast<std::size_t>(out.images * out.channels), [&](std::size_t plane) {
    const auto element = [&](const ImageExtents& extents, Extent h, Extent w) {
      return static_cast<std::size_t>((static_cast<Extent>(plane) * extents.height + h) * extents.width + w);
    };
    for (Extent p = 0; p < out.height; ++p) {
      for (Extent q = 0; q < out.width; ++q) {
        const std::size_t o = element(out, p, q);
        if (resize.kind == Resize::Kind::nearest) {
          const Extent h = nearest_element(resize, 0, in.height, p);
          copy(x, element(in, h, nearest_element(resize, 1, in.width, q)), y, o);
          continue;
        }
        const Between rows = between_elements(resize, 0, in.height, p);
        const Between columns = between_elements(resize, 1, in.width, q);
        Sum sum;
        double reach = 0;
        const auto add = [&](Extent h, double row_weight, Extent w, double column_weight) {
          const std::size_t i = element(in, h, w);
          sum.add(row_weight * column_weight, x.values[i], x.bounds[i]);
          reach = std::max(reach, std::abs(x.values[i]) + x.bounds[i]);
        };
        add(rows.first, 1.0 - rows.weight, columns.first, 1.0 - columns.weight);
        add(rows.first, 1.0 - rows.weight, columns.second, columns.weight);
        add(rows.second, rows.weight, columns.first, 1.0 - columns.weight);
        add(rows.second, rows.weight, columns.second, columns.weight);
        set(y, o, {sum.value, sum.spread + gamma(16) * reach + 16 * kUnderflow});
      }
    }
  });
}

Magnitude magnitude(const Resize& /*operation*/, const Operands& operands) {
  return {4 * operands.largest[0], operands.largest[0]};
}

}  // namespace spdnn::rules
