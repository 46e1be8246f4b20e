#pragma once

#include <span>

#include "io/models/onnx/read/node.hpp"

// Parts of values that depend on the inputs of the model, by operations that copy elements. Callers have checked axes,
// and that the axis is not a batch of open length.
namespace spdnn::onnx_reader {

/// The elements begin, begin + 1, ... below end of an axis.
ValueId cropped(NodeReader& node, ValueId value, std::size_t axis, Extent begin, Extent end);
/// `count` elements of an axis: first, first + step, ..., with a positive step.
ValueId stepped(NodeReader& node, ValueId value, std::size_t axis, Extent first, Extent step, Extent count);
/// The elements at these positions of an axis, at least one, in their order.
ValueId picked(NodeReader& node, ValueId value, std::size_t axis, std::span<const std::int64_t> positions);

/// An axis several times over.
ValueId repeated(NodeReader& node, ValueId value, std::size_t axis, std::int64_t times);

}  // namespace spdnn::onnx_reader
