#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/import/onnx/node.hpp"

// What operators with windows have in common: Conv, ConvTranspose and the pools.
namespace spdnn::onnx_reader {

/// How many spatial axes the input has: 1 or 2.
std::size_t spatial_axes(NodeReader& node);

/// The numbers of an attribute, `count` of them, each in least..2^31-1; nothing where the node has not the attribute.
std::optional<std::vector<Index>> axis_numbers(NodeReader& node, const std::string& name, std::size_t count,
                                               std::int64_t least);
/// Puts numbers of one or two spatial axes, from the place `from` on, where Window has them.
std::array<Index, 2> placed(const std::vector<Index>& numbers, std::size_t from, std::size_t axes, Index otherwise);

/// The window without its padding. `kernel` is what the weights say of kernel_shape.
Window read_moves(NodeReader& node, std::size_t axes, const std::optional<std::vector<Index>>& kernel);

/// Filters: input 1, checked to have as many axes as the images, and at least one weight.
struct Filters {
  const Shape& shape;
  std::span<const float> weights;

  std::vector<Index> kernel() const { return {shape.begin() + 2, shape.end()}; }
};
Filters read_filters(NodeReader& node, std::size_t axes);
/// Input 2, if it is there: one number per output channel.
std::vector<float> read_bias(NodeReader& node, Offset channels);

}  // namespace spdnn::onnx_reader
