#pragma once

#include <vector>

#include "spdnn/plan.hpp"
#include "spdnn/planned_network.hpp"

namespace spdnn {

/// One description per layer of the network, for which `plan` was made. Neurons count as twins, always zero or unread
/// only as far as the plan's passes looked for them. Cost: sorts the stored terms, and the weights where they are not
/// uniform.
std::vector<LayerDescription> describe(const Network& network, const Plan& plan);

}  // namespace spdnn
