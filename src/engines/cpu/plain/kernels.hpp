#pragma once

#include <vector>

#include "program/kernel.hpp"

// The kernels of the family plain: each function makes the offers of one, for requests whose operation is its own.

namespace spdnn::plain {

std::vector<program::Offer> convolution(const program::Request& request);  // weighted.cpp
std::vector<program::Offer> linear(const program::Request& request);
std::vector<program::Offer> activation(const program::Request& request);  // functions.cpp
std::vector<program::Offer> batch_norm(const program::Request& request);
std::vector<program::Offer> elementwise(const program::Request& request);
std::vector<program::Offer> channel_factors(const program::Request& request);
std::vector<program::Offer> softmax(const program::Request& request);
std::vector<program::Offer> pool(const program::Request& request);  // places.cpp
std::vector<program::Offer> global_pool(const program::Request& request);
std::vector<program::Offer> concat(const program::Request& request);
std::vector<program::Offer> transpose(const program::Request& request);
std::vector<program::Offer> pad(const program::Request& request);
std::vector<program::Offer> resize(const program::Request& request);

/// Any layout into any other (change.cpp).
program::Offer change(const program::Change& change);

/// The layout of an input, if it is fp32 in `rows` or `nhwc`; otherwise `rows`.
program::Layout simple_layout(const program::Input& input);

/// The offer of a loop over memory: one pass over its inputs and its output.
program::Offer pass(const program::Request& request, std::vector<program::Layout> inputs, program::Layout output,
                    std::function<void(const program::Operands&)> loop);
/// The same as all the offers there are.
std::vector<program::Offer> only(program::Offer offer);

}  // namespace spdnn::plain
