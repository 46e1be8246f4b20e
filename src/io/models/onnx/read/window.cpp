#include "io/models/onnx/read/window.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace spdnn::onnx_reader {

std::size_t spatial_axes(NodeReader& node) {
  const std::size_t rank = node.shape(0).size();
  if (rank != 3 && rank != 4)
    node.fail_input(0, fmt::format("its shape is {}; expected one or two spatial axes: N x C x W or N x C x H x W",
                                   shape_text(node.shape(0))));
  return rank - 2;
}

std::optional<std::vector<Index>> axis_numbers(NodeReader& node, const std::string& name, std::size_t count,
                                               std::int64_t least) {
  const auto given = node.integers(name);
  if (!given) return std::nullopt;
  if (given->size() != count) node.fail_attribute(name, fmt::format("{} numbers, expected {}", given->size(), count));
  std::vector<Index> numbers;
  for (const std::int64_t number : *given) {
    if (number < least || number > std::int64_t{kMaxIndex})
      node.fail_attribute(name, fmt::format("{} is outside {}..{}", number, least, kMaxIndex));
    numbers.push_back(static_cast<Index>(number));
  }
  return numbers;
}

std::array<Index, 2> placed(const std::vector<Index>& numbers, std::size_t from, std::size_t axes, Index otherwise) {
  if (axes == 1) return {otherwise, numbers[from]};
  return {numbers[from], numbers[from + 1]};
}

Window read_moves(NodeReader& node, std::size_t axes, const std::optional<std::vector<Index>>& kernel) {
  Window window;
  auto given = axis_numbers(node, "kernel_shape", axes, 1);
  if (!given && !kernel) node.fail("attribute kernel_shape is missing");
  if (given && kernel && *given != *kernel)
    node.fail_attribute("kernel_shape", fmt::format("{}, but the weights have {}", fmt::join(*given, " x "),
                                                    fmt::join(*kernel, " x ")));
  window.kernel = placed(given ? *given : *kernel, 0, axes, 1);
  if (const auto strides = axis_numbers(node, "strides", axes, 1)) window.stride = placed(*strides, 0, axes, 1);
  if (const auto dilations = axis_numbers(node, "dilations", axes, 1)) window.dilation = placed(*dilations, 0, axes, 1);
  return window;
}

Filters read_filters(NodeReader& node, std::size_t axes) {
  Shape shape = node.weights_shape(1);
  if (shape.size() != axes + 2)
    node.fail_input(1,
                    fmt::format("weights of shape {} for images of {}", shape_text(shape), shape_text(node.shape(0))));
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent > Extent{kMaxIndex}; }))
    node.fail_input(1, fmt::format("weights of shape {}: an axis is longer than 2^31-1", shape_text(shape)));
  return {std::move(shape)};
}

std::vector<float> read_bias(NodeReader& node, Offset channels) {
  if (!node.has_input(2)) return {};
  const std::span<const float> bias = node.floats(2);
  if (bias.size() != channels)
    node.fail_input(2, fmt::format("{} biases for {} output channels", bias.size(), channels));
  node.graph().budget().take(bias.size_bytes());
  return {bias.begin(), bias.end()};
}

}  // namespace spdnn::onnx_reader
