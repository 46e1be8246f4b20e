#pragma once

#include <functional>
#include <string>

#include "core/types/plan.hpp"

namespace spdnn::planning {

/// Disables a requested pass, and notes the reason.
void turn_off(Plan& plan, bool Passes::*pass, const std::string& why);

/// Enters the certificate of a dynamic pass; notes a late beginning, and disables the pass if it holds for no layer.
/// `from` computes the result of passes/saturation.hpp, and is called only if the pass may be in force.
void certify_dead(Plan& plan, Index from);
void certify_saturated(Plan& plan, const std::function<Index()>& from);

}  // namespace spdnn::planning
