#pragma once

#include "io/models/onnx/read/node.hpp"

namespace spdnn::onnx_reader {

/// The value in another shape; the value itself if the shape is unchanged.
ValueId reshaped(NodeReader& node, ValueId value, const Shape& shape);
/// The shape with two axes: the product of those before `axis`, and of the rest.
Shape flattened(NodeReader& node, const Shape& shape, std::size_t axis);
/// Sets the node's output to its input in another shape, constant or not. Integer constants keep their elements.
void set_reshaped(NodeReader& node, const Shape& shape);

}  // namespace spdnn::onnx_reader
