#pragma once

#include <functional>
#include <vector>

#include "program/kernel.hpp"

// The kernels of the family plain: each function makes the offers of one, for requests whose operation is its own.

namespace spdnn::plain {

using program::Change;
using program::ElementType;
using program::kRows;
using program::Layout;
using program::Offer;
using program::Operands;
using program::Order;
using program::Request;

std::vector<Offer> convolution(const Request& request);  // weighted.cpp
std::vector<Offer> linear(const Request& request);
std::vector<Offer> activation(const Request& request);  // functions.cpp
std::vector<Offer> batch_norm(const Request& request);
std::vector<Offer> elementwise(const Request& request);
std::vector<Offer> channel_factors(const Request& request);
std::vector<Offer> softmax(const Request& request);
std::vector<Offer> matrix_product(const Request& request);  // products.cpp
std::vector<Offer> reduction(const Request& request);
std::vector<Offer> pool(const Request& request);  // places.cpp
std::vector<Offer> global_pool(const Request& request);
std::vector<Offer> concat(const Request& request);
std::vector<Offer> transpose(const Request& request);
std::vector<Offer> pad(const Request& request);
std::vector<Offer> resize(const Request& request);

/// Any layout into any other (change.cpp).
Offer change(const Change& change);

/// The layout of an input, if it is fp32 in `rows` or `nhwc`; otherwise `rows`.
Layout simple_layout(const program::Input& input);

/// The offer of a loop over memory: one pass over its inputs and its output.
Offer pass(const Request& request, std::vector<Layout> inputs, Layout output,
           std::function<void(const Operands&)> loop);
/// The same as all the offers there are.
std::vector<Offer> only(Offer offer);

}  // namespace spdnn::plain
