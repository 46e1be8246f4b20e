#pragma once

#include "io/models/onnx/read/node.hpp"

// Arithmetic that readers of operators build others of.
namespace spdnn::onnx_reader {

/// A function of each element.
ValueId applied(NodeReader& node, Activation::Kind kind, ValueId x, float alpha = 0);
/// The numbers of a constant input, which may be integers, as fp32.
ValueId as_floats(NodeReader& node, std::size_t input);
/// A constant of one number.
ValueId number(NodeReader& node, float value);
ValueId combined(NodeReader& node, Elementwise::Kind kind, ValueId a, ValueId b);
/// The same with one number.
ValueId combined_with(NodeReader& node, Elementwise::Kind kind, ValueId a, float b);
/// The broadcast shape of two constants of one type, whose result is taken from the budget. DataError if they do not
/// fit.
Shape shape_of_both(NodeReader& node, const Constant& a, const Constant& b);
/// Of constants of one type. DataError if the shapes do not fit, or integers cannot be computed.
Constant combined_constants(NodeReader& node, Elementwise::Kind kind, const Constant& a, const Constant& b);

/// Over axes of a value, which keep the length 1. DataError if one is a batch of open length.
ValueId reduced(NodeReader& node, Reduce::Kind kind, ValueId value, const std::vector<Index>& axes);
ValueId mean_over(NodeReader& node, ValueId value, const std::vector<Index>& axes);

}  // namespace spdnn::onnx_reader
