#pragma once

#include <string>
#include <string_view>

#include "core/types/plan.hpp"

namespace spdnn {

/// Plans as the vendor's libraries need them. They add in an order of their own, so terms need not stay in the given
/// one: activations differ from the given network's in the last bits whether or not rows are rewritten here.

/// Why `variant`, whose library counts edges in 32 bits, refuses a plan; empty where it does not.
std::string reason_against_library(const Plan& plan, std::string_view variant);

/// Every row's inputs ascend strictly: repeated ones (of `twins`) are added up. Layers that are so already share their
/// storage.
Plan with_distinct_inputs(const Plan& plan);

/// The same plan with each layer's weights transposed: row i lists the outputs that input i feeds.
Plan by_input(Plan plan);

/// Turns the positive biases of a layer held by input into the weights of one more input, which is always 1, and leaves
/// 0 in their place: where the bias is added everywhere, that keeps rows of products sparse. False where there are
/// none.
bool lift_positive_biases(Layer& layer);

/// Rows with distinct, ascending columns.
CsrMatrix with_distinct_columns(const CsrMatrix& matrix);

}  // namespace spdnn
