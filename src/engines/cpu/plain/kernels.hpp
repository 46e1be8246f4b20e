#pragma once

#include <functional>
#include <vector>

#include "program/operation_kernel.hpp"

// The kernels of the family plain: each function makes the offers of one.

namespace spdnn::plain {

using program::Change;
using program::ElementType;
using program::kRows;
using program::Layout;
using program::Offer;
using program::only;
using program::Operands;
using program::Order;
using program::Request;

using Offers = std::vector<Offer>;
Offers convolution(const Request& request, const Convolution& convolution);  // weighted.cpp
Offers linear(const Request& request, const Linear& linear);
Offers activation(const Request& request, const Activation& function);  // functions.cpp
Offers batch_norm(const Request& request, const BatchNorm& norm);
Offers elementwise(const Request& request, const Elementwise& both);
Offers channel_factors(const Request& request, const Elementwise& both);
Offers softmax(const Request& request, const Softmax& softmax);
Offers quantise(const Request& request, const Elementwise& both);      // quantise.cpp
Offers matrix_product(const Request& request, const MatMul& product);  // products.cpp
Offers reduction(const Request& request, const Reduce& reduce);
Offers pool(const Request& request, const Pool& pool);  // places.cpp
Offers global_pool(const Request& request, const GlobalPool& pool);
Offers concat(const Request& request, const Concat& concat);
Offers transpose(const Request& request, const Transpose& transpose);
Offers pad(const Request& request, const Pad& pad);
Offers resize(const Request& request, const Resize& resize);

/// Any layout into any other (change.cpp).
Offer change(const Change& change);

/// The layout of an input, if it is fp32 in `rows` or `nhwc`; otherwise `rows`.
Layout simple_layout(const program::Input& input);

/// The offer of a loop over memory: one pass over its inputs and its output.
Offer pass(const Request& request, std::vector<Layout> inputs, Layout output,
           std::function<void(const Operands&)> loop);

}  // namespace spdnn::plain
