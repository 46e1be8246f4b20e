#pragma once

#include <functional>
#include <string>

#include "core/types/plan.hpp"

namespace spdnn::planning {

/// Takes a requested pass out of force, and notes why.
void turn_off(Plan& plan, bool Passes::*pass, const std::string& why);

/// Enters the certificate of a dynamic pass; where it begins late, notes that, and where it holds for no layer, the
/// pass is not applied. `from` is what passes/saturation.hpp finds, and is asked for only where the pass may be in
/// force.
void certify_dead(Plan& plan, Index from);
void certify_saturated(Plan& plan, const std::function<Index()>& from);

}  // namespace spdnn::planning
