#pragma once

#include "spdnn/plan.hpp"

namespace spdnn {

/// Makes the plan: checks for each requested pass whether its conditions hold (otherwise it stands aside, with a note),
/// applies the static ones and computes the certificates of the dynamic ones. `Passes{}` gives the network itself,
/// sharing its storage.
Plan make_plan(const Network& network, const Passes& passes);

}  // namespace spdnn
