// Operators that change only shapes, or nothing.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/models/onnx/read/fold.hpp"
#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

/// The shape of input 0, which may have integers.
const Shape& any_shape(NodeReader& node) {
  const Constant* constant = node.constant_or_null(0);
  return constant != nullptr ? constant->shape : node.shape(0);
}

/// The number of elements of some axes; the open batch axis counts as it is and can be combined only with axes of
/// length 1.
Extent product(NodeReader& node, const Shape& shape, std::size_t from, std::size_t to) {
  const Shape part(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.begin() + static_cast<std::ptrdiff_t>(to));
  const bool batch = std::count(part.begin(), part.end(), kBatchExtent) > 0;
  const std::optional<Offset> count = elements(with_batch(part, 1));
  if (!count || !std::in_range<Extent>(*count))
    node.fail_input(0, fmt::format("{} elements exceed the address space", shape_text(shape)));
  if (!batch) return static_cast<Extent>(*count);
  if (*count != 1)
    node.fail_input(0, fmt::format("the batch axis of {} cannot be joined with others; give the batch a fixed size",
                                   shape_text(shape)));
  return kBatchExtent;
}

/// The axes of Squeeze and Unsqueeze: an attribute before set 13, an input since.
std::optional<std::vector<std::int64_t>> read_axes(NodeReader& node) {
  if (node.opset() < 13) {
    if (node.inputs() > 1) node.fail("the axes are an attribute before operator set 13");
    return node.integers("axes");
  }
  if (!node.has_input(1)) return std::nullopt;
  const std::span<const std::int64_t> axes = node.ints(1);
  return std::vector<std::int64_t>(axes.begin(), axes.end());
}

/// Marks the given axes out of `rank`, each at most once.
std::vector<bool> marked(NodeReader& node, const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> marks(rank);
  for (const std::int64_t axis : axes) {
    const std::size_t at = node.axis("axes", axis, rank);
    if (marks[at]) node.fail(fmt::format("axes: axis {} is repeated", axis));
    marks[at] = true;
  }
  return marks;
}

/// Reshape's target shape, with 0, -1 and the batch size resolved.
Shape resolved(NodeReader& node, std::span<const std::int64_t> asked, const Shape& from, bool zero_is_length) {
  if (asked.size() > kMostAxes) node.fail_input(1, fmt::format("{} axes are more than {}", asked.size(), kMostAxes));
  Shape to;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Extent extent = asked[i];
    if (extent == -1) {
      if (open) node.fail_input(1, "two axes are -1");
      open = i;
      extent = 1;
    } else if (extent == 0 && !zero_is_length) {
      if (i >= from.size())
        node.fail_input(1, fmt::format("0 on axis {}, which does not exist in {}", i, shape_text(from)));
      extent = from[i];
    } else if (extent == kImages) {
      extent = kBatchExtent;
    } else if (extent < 0) {
      node.fail_input(1, fmt::format("an axis of length {}", extent));
    }
    if (extent == kBatchExtent && i != 0)
      node.fail_input(1, fmt::format("the batch axis becomes axis {}; it must stay axis 0", i));
    to.push_back(extent);
  }
  const bool batch_from = !from.empty() && from[0] == kBatchExtent;
  const bool batch_to = !to.empty() && to[0] == kBatchExtent;
  const std::optional<Offset> all = elements(with_batch(from, 1));
  const std::optional<Offset> others = elements(with_batch(to, 1));
  if (!all || !others) node.fail_input(1, "the number of elements exceeds the address space");
  const auto misfit = [&] {
    node.fail_input(1, fmt::format("{} cannot be reshaped to {}{}", shape_text(from), shape_text(to),
                                   batch_from && !batch_to ? ": the batch has no fixed size; give it one" : ""));
  };
  if (batch_from && !batch_to && open == 0U) {
    to[0] = kBatchExtent;
    if (*all != *others) misfit();
    return to;
  }
  if (batch_from != batch_to) misfit();
  if (open && (*others == 0 || *all % *others != 0)) misfit();
  if (open) to[*open] = static_cast<Extent>(*all / *others);
  if (!open && *all != *others) misfit();
  return to;
}

}  // namespace

ValueId reshaped(NodeReader& node, ValueId value, const Shape& shape) {
  return node.graph().shape(value) == shape ? value : node.add(Reshape{shape}, {value});
}

Shape flattened(NodeReader& node, const Shape& shape, std::size_t axis) {
  return {product(node, shape, 0, axis), product(node, shape, axis, shape.size())};
}

void set_reshaped(NodeReader& node, const Shape& shape) {
  if (shape.size() > kMostAxes) node.fail(fmt::format("{} axes are more than {}", shape.size(), kMostAxes));
  if (const Constant* constant = node.constant_or_null(0))
    return node.set_output(Constant{shape, constant->values, {}, constant->type});
  if (std::count(shape.begin(), shape.end(), kBatchExtent) > 0 && shape[0] != kBatchExtent)
    node.fail("the batch axis must stay axis 0; give the batch a fixed size");
  node.set_moved(reshaped(node, node.any_value(0), shape));
}

void read_flatten(NodeReader& node) {
  const Shape shape = any_shape(node);
  const std::int64_t axis = node.integer("axis", 1);
  set_reshaped(node, flattened(node, shape,
                               axis < 0 ? node.axis("attribute axis", axis, shape.size())
                                        : node.axis("attribute axis", axis, shape.size() + 1)));
}

void read_reshape(NodeReader& node) {
  const Constant& asked = node.constant(1);
  if (!asked.integers() || asked.shape.size() != 1) node.fail_input(1, "expected a list of integers");
  const bool zero_is_length = node.opset() >= 14 && node.integer("allowzero", 0) != 0;
  set_reshaped(node, resolved(node, asked.ints(), any_shape(node), zero_is_length));
}

void read_squeeze(NodeReader& node) {
  const Shape shape = any_shape(node);
  const auto axes = read_axes(node);
  const std::vector<bool> gone = marked(node, axes.value_or(std::vector<std::int64_t>()), shape.size());
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (gone[axis] && shape[axis] != 1)
      node.fail(fmt::format("axes: axis {} of {} does not have the length 1", axis, shape_text(shape)));
    if (axes ? !gone[axis] : shape[axis] != 1) left.push_back(shape[axis]);
  }
  set_reshaped(node, left);
}

void read_unsqueeze(NodeReader& node) {
  const Shape shape = any_shape(node);
  const auto axes = read_axes(node);
  if (!axes) node.fail("axes are missing");
  if (axes->size() > kMostAxes) node.fail(fmt::format("{} axes are more than {}", axes->size(), kMostAxes));
  const std::vector<bool> added = marked(node, *axes, shape.size() + axes->size());
  Shape wide;
  auto next = shape.begin();
  for (const bool one : added) wide.push_back(one ? 1 : *next++);
  set_reshaped(node, wide);
}

void read_transpose(NodeReader& node) {
  const Shape shape = any_shape(node);
  std::vector<std::int64_t> reversed(shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const std::vector<std::int64_t> order = node.integers("perm").value_or(reversed);
  if (order.size() != shape.size())
    node.fail_attribute("perm", fmt::format("{} axes for an input of {}", order.size(), shape.size()));
  marked(node, order, shape.size());
  if (std::any_of(order.begin(), order.end(), [](std::int64_t axis) { return axis < 0; }))
    node.fail_attribute("perm", "an axis is negative");
  const std::vector<Index> axes(order.begin(), order.end());
  if (const Constant* constant = node.constant_or_null(0)) {
    node.graph().budget().take(constant->bytes());
    return node.set_output(transposed(*constant, axes));
  }
  if (!shape.empty() && shape[0] == kBatchExtent && axes[0] != 0)
    node.fail_attribute("perm", "the batch axis must stay axis 0; give the batch a fixed size");
  node.set_moved(node.add(Transpose{axes}, {node.any_value(0)}));
}

void read_identity(NodeReader& node) {
  if (const Constant* constant = node.constant_or_null(0)) return node.set_output(*constant);
  node.set_moved(node.any_value(0));
}

void read_size(NodeReader& node) {
  const Shape shape = any_shape(node);
  const Extent count = product(node, shape, 0, shape.size());
  node.set_output(Constant{
      {}, Array<std::int64_t>(std::vector<std::int64_t>{count == kBatchExtent ? kImages : std::int64_t{count}})});
}

void read_dropout(NodeReader& node) {
  node.ignore("ratio");
  node.ignore("seed");
  if (node.opset() < 7) {
    node.require("is_test", 1, "only 1 (inference)");
    if (!node.has("is_test")) node.fail("attribute is_test is missing, which means training");
  }
  if (node.has_input(2) && (node.opset() < 12 || node.ints(2).size() != 1 || node.ints(2)[0] != 0))
    node.fail_input(2, "training_mode must be false (inference)");
  read_identity(node);
}

}  // namespace spdnn::onnx_reader
