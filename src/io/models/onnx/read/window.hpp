#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/models/onnx/read/node.hpp"

// Shared code of operators with windows: Conv, ConvTranspose and pooling.
namespace spdnn::onnx_reader {

/// The number of spatial axes of the input: 1 or 2.
std::size_t spatial_axes(NodeReader& node);

/// The numbers of an attribute, `count` of them, each in least..2^31-1; empty if the node lacks the attribute.
std::optional<std::vector<Index>> axis_numbers(NodeReader& node, const std::string& name, std::size_t count,
                                               std::int64_t least);
/// Stores the numbers of one or two spatial axes, starting at index `from`, in Window's order.
std::array<Index, 2> placed(const std::vector<Index>& numbers, std::size_t from, std::size_t axes, Index otherwise);

/// The window without its padding. `kernel` is the kernel shape of the weights, if there are any.
Window read_moves(NodeReader& node, std::size_t axes, const std::optional<std::vector<Index>>& kernel);

/// The filters in input 1, checked to have the rank of the images and at least one weight.
struct Filters {
  Shape shape;

  std::vector<Index> kernel() const { return {shape.begin() + 2, shape.end()}; }
};
Filters read_filters(NodeReader& node, std::size_t axes);
/// Input 2, if given: one number per output channel.
std::vector<float> read_bias(NodeReader& node, Offset channels);

}  // namespace spdnn::onnx_reader
