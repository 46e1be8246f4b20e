#pragma once

#include <optional>
#include <vector>

#include "engines/cuda/conv_direct/functions.hpp"
#include "program/kernel.hpp"

namespace spdnn::cuda {

/// An activation as a function of one element on the device; empty for those that have none there.
std::optional<Function> function_of(const Activation& activation);

/// A step's fused nodes as functions, additions without their operands; empty if the device has none for some node, or
/// if an added value is no tensor of the output's images and shape.
std::optional<std::vector<Function>> fused_functions(const program::Request& request);

/// The functions with the added values, which follow the node's own inputs.
Functions with_operands(std::vector<Function> functions, std::size_t own_inputs, const program::Operands& at);

}  // namespace spdnn::cuda
