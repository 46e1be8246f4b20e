// Pad: numbers around the elements, or elements of the value itself.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/parts.hpp"

namespace spdnn::onnx_reader {

namespace {

/// The value with a border of -inf.
Surrounded surrounded(NodeReader& node, const Pad& pad) {
  Surrounded made{node.value(0), node.shape(0)};
  const std::size_t rank = made.shape.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (pad.begin[axis] == 0 && pad.end[axis] == 0) continue;
    if (rank < 3 || rank > 4 || axis < 2 || pad.begin[axis] < 0 || pad.end[axis] < 0)
      node.fail(
          fmt::format("pads: -inf around axis {} of {} is not supported; in front of a MaxPool it may be added to one "
                      "or two spatial axes",
                      axis, shape_text(made.shape)));
    const std::size_t place = axis + 2 - rank;  // among H and W
    made.begin[place] = static_cast<Index>(pad.begin[axis]);
    made.end[place] = static_cast<Index>(pad.end[axis]);
    made.shape[axis] += pad.begin[axis] + pad.end[axis];
  }
  return made;
}

/// Since set 18 the padding may be of some axes alone.
std::vector<std::int64_t> pads_of_all_axes(NodeReader& node, const std::vector<std::int64_t>& pads, std::size_t rank) {
  const std::span<const std::int64_t> axes = node.ints(3);
  if (pads.size() != 2 * axes.size())
    node.fail(fmt::format("pads: {} numbers for {} axes, which need two each", pads.size(), axes.size()));
  std::vector<std::int64_t> all(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = node.axis("axes", axes[i], rank);
    all[axis] = pads[i];
    all[rank + axis] = pads[axes.size() + i];
  }
  return all;
}

void read_padding_by_elements(NodeReader& node, const std::string& mode, const Pad& pad) {
  const Border border = mode == "edge" ? Border::edge : mode == "reflect" ? Border::reflect : Border::wrap;
  ValueId value = node.any_value(0);
  for (std::size_t axis = 0; axis < pad.begin.size(); ++axis) {
    const auto [begin, end] = std::pair(pad.begin[axis], pad.end[axis]);
    if (begin == 0 && end == 0) continue;
    const Extent length = node.graph().shape(value)[axis];
    const Extent most = widest(border, length);
    if (begin > most || end > most)
      node.fail(fmt::format("pads: {} and {} by the mode {} are more than {}", begin, end, mode, most));
    if (begin + length + end < 1) node.fail("pads: nothing is left of an axis");
    node.graph().budget().take(static_cast<std::size_t>(begin + length + end) * sizeof(Node));
    value = picked(node, value, axis, bordered(border, length, begin, end));
  }
  node.set_moved(value);
}

}  // namespace

void read_pad(NodeReader& node) {
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    node.fail_attribute("mode", fmt::format("'{}' is none of constant, edge, reflect, wrap", mode));
  const Shape shape = node.shape(0);
  std::vector<std::int64_t> pads;
  Pad pad;
  if (node.opset() < 11) {
    if (node.inputs() > 1) node.fail("the padding is an attribute before operator set 11");
    const auto given = node.integers("pads");
    if (!given) node.fail("attribute pads is missing");
    pads = *given;
    pad.value = node.any_real("value", 0);
  } else {
    const std::span<const std::int64_t> given = node.ints(1);
    pads.assign(given.begin(), given.end());
    if (node.has_input(2)) pad.value = node.scalar(2);
    if (node.has_input(3)) pads = pads_of_all_axes(node, pads, shape.size());
  }
  if (pads.size() != 2 * shape.size())
    node.fail(fmt::format("pads: {} numbers for {} axes, which need two each", pads.size(), shape.size()));
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < -std::int64_t{kMaxIndex} || pads[i] > std::int64_t{kMaxIndex})
      node.fail(fmt::format("pads: {} is outside -{}..{}", pads[i], kMaxIndex, kMaxIndex));
    if (pads[i] != 0 && shape[i % shape.size()] == kBatchExtent)
      node.fail("pads: the batch axis cannot be padded; give the batch a fixed size");
    (i < shape.size() ? pad.begin : pad.end).push_back(pads[i]);
  }
  if (mode != "constant") return read_padding_by_elements(node, mode, pad);
  if (std::none_of(pads.begin(), pads.end(), [](std::int64_t count) { return count > 0; })) pad.value = 0;
  if (pad.value == -std::numeric_limits<float>::infinity()) return node.set_output(surrounded(node, pad));
  if (!std::isfinite(pad.value)) {
    const std::string problem = fmt::format("{} is neither finite nor -inf", pad.value);
    node.opset() < 11 ? node.fail_attribute("value", problem) : node.fail_input(2, problem);
  }
  node.set_output(std::move(pad), {node.value(0)});
}

}  // namespace spdnn::onnx_reader
