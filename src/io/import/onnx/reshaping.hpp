#pragma once

#include "io/import/onnx/node.hpp"

namespace spdnn::onnx_reader {

/// The value in another shape: itself where that is its own.
ValueId reshaped(NodeReader& node, ValueId value, const Shape& shape);
/// A shape of two axes: those before `axis`, and the rest.
Shape flattened(NodeReader& node, const Shape& shape, std::size_t axis);
/// Makes the node's output its input in another shape, whether it is a constant or not. The integers of a constant keep
/// their number.
void set_reshaped(NodeReader& node, const Shape& shape);

}  // namespace spdnn::onnx_reader
