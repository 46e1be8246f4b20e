// ReduceMean: a global mean per channel, after the averaged axes are merged into the last one.

#include <algorithm>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

namespace spdnn::onnx_reader {

namespace {

/// The axes to average over: an attribute before set 18, an input since; all axes if none are given.
std::vector<bool> read_reduced(NodeReader& node, std::size_t rank) {
  std::vector<std::int64_t> axes;
  bool none_is_all = true;
  if (node.opset() < 18) {
    if (node.inputs() > 1) node.fail("the axes are an attribute before operator set 18");
    axes = node.integers("axes").value_or(axes);
  } else {
    none_is_all = node.integer("noop_with_empty_axes", 0) == 0;
    if (node.has_input(1)) axes.assign(node.ints(1).begin(), node.ints(1).end());
  }
  std::vector<bool> reduced(rank, axes.empty() && none_is_all);
  for (const std::int64_t axis : axes) reduced[node.axis("axes", axis, rank)] = true;
  return reduced;
}

/// The shape images x channels x elements to average over, which are the last axes. 1 x kBatchExtent stays
/// kBatchExtent.
Shape as_rows(const Shape& shape, const std::vector<bool>& reduced) {
  Shape rows{1, 1, 1};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) rows[reduced[axis] ? 2 : axis == 0 ? 0 : 1] *= shape[axis];
  return rows;
}

}  // namespace

void read_reduce_mean(NodeReader& node) {
  const Shape shape = node.shape(0);
  const bool kept_as_one = node.integer("keepdims", 1) != 0;
  const std::vector<bool> reduced = read_reduced(node, shape.size());
  const auto count = static_cast<std::size_t>(std::count(reduced.begin(), reduced.end(), true));
  if (count == 0) return node.set_output(node.value(0));
  if (reduced[0] && shape[0] == kBatchExtent)
    node.fail("axes: the mean is over the batch axis; give the batch a fixed size");

  std::vector<Index> order;
  for (const bool last : {false, true})
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (reduced[axis] == last) order.push_back(static_cast<Index>(axis));
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (!reduced[axis] || kept_as_one) left.push_back(reduced[axis] ? 1 : shape[axis]);

  ValueId value = node.value(0);
  const bool last_already = std::is_sorted(order.begin(), order.end());
  const bool spatial = last_already && (shape.size() == 3 || shape.size() == 4) && count == shape.size() - 2;
  if (!last_already) value = node.add(Transpose{order}, {value});
  if (!spatial) value = reshaped(node, value, as_rows(shape, reduced));
  node.set_output(reshaped(node, node.add(GlobalPool{Pool::Kind::average}, {value}), left));
}

}  // namespace spdnn::onnx_reader
