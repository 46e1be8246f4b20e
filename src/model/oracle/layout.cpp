// Concat, reshape, transpose, pad and resize: what moves elements.

#include <algorithm>

#include "core/parallel.hpp"
#include "core/shape.hpp"
#include "model/operations/geometry.hpp"
#include "model/oracle/operations.hpp"

namespace spdnn::reference {

namespace {

/// The place of an element along an axis.
Extent along(std::size_t element, std::size_t stride, Extent extent) {
  return static_cast<Extent>(element / stride) % extent;
}

void copy(const Bounded& x, std::size_t from, Bounded& y, std::size_t to) {
  y.values[to] = x.values[from];
  y.bounds[to] = x.bounds[from];
}

}  // namespace

Bounded join(const Concat& concat, const std::vector<const Bounded*>& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Bounded* input : inputs) shapes.push_back(input->shape);
  Bounded y = blank(output_shape(concat, shapes));
  const std::size_t inner = strides_of(y.shape)[concat.axis];
  const std::size_t row = inner * static_cast<std::size_t>(y.shape[concat.axis]);
  std::size_t begin = 0;
  for (const Bounded* input : inputs) {
    const std::size_t part = inner * static_cast<std::size_t>(input->shape[concat.axis]);
    for (std::size_t i = 0; i < input->values.size(); ++i) copy(*input, i, y, i / part * row + begin + i % part);
    begin += part;
  }
  return y;
}

Bounded reshape(const Reshape& reshape, const Bounded& x) {
  Bounded y = x;
  y.shape = output_shape(reshape, {x.shape});
  return y;
}

Bounded transpose(const Transpose& transpose, const Bounded& x) {
  Bounded y = blank(output_shape(transpose, {x.shape}));
  y.terms = x.terms;
  const std::vector<Extent> from = strides_of(x.shape);
  const std::vector<Extent> to = strides_of(y.shape);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    std::size_t source = 0;
    for (std::size_t axis = 0; axis < to.size(); ++axis)
      source += static_cast<std::size_t>(along(i, to[axis], y.shape[axis])) * from[transpose.order[axis]];
    copy(x, source, y, i);
  }
  return y;
}

Bounded pad(const Pad& pad, const Bounded& x) {
  Bounded y = blank(output_shape(pad, {x.shape}));
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
  return y;
}

Bounded resize(const Resize& resize, const Bounded& x) {
  Bounded y = blank(output_shape(resize, {x.shape}));
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
        y.values[o] = sum.value;
        y.bounds[o] = sum.spread + gamma(16) * reach + 16 * kUnderflow;
      }
    }
  });
  return y;
}

}  // namespace spdnn::reference
