#pragma once

#include <string>
#include <string_view>

#include "core/types/plan.hpp"

namespace spdnn {

/// Plans in the form of the vendor's libraries. These choose their own order of summation, so terms need not keep the
/// given one: activations differ from the given network's in the last bits whether or not rows are rewritten here.

/// The reason why `variant`, whose library counts edges in 32 bits, refuses a plan, or empty.
std::string reason_against_library(const Plan& plan, std::string_view variant);

/// Every row's inputs ascend strictly: repeated ones (of `twins`) are added. Layers that need no change share their
/// storage.
Plan with_distinct_inputs(const Plan& plan);

/// The same plan with each layer's weights transposed: row i lists the outputs that input i feeds.
Plan by_input(Plan plan);

/// Turns the positive biases of a layer held by input into the weights of an additional input, which is always 1, and
/// sets them to 0: with BiasRule::everywhere that keeps rows of products sparse. False if there are none.
bool lift_positive_biases(Layer& layer);

/// Rows with distinct, ascending columns.
CsrMatrix with_distinct_columns(const CsrMatrix& matrix);

}  // namespace spdnn
