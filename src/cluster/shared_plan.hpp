#pragma once

#include "cluster/communicator.hpp"
#include "core/types/plan.hpp"

namespace spdnn {

/// The root's plan on all ranks, but for the expansion, which is the root's alone: the others' stands for identity.
/// What others give is not looked at. The arrays lie once on each node, in memory that the node's ranks share; between
/// nodes they are broadcast once. On the root each array is given up as soon as it has been copied, where nobody else
/// holds it, so that the plan is never there twice. Alone, the plan is returned as it is.
Plan share_plan(Communicator& ranks, Plan plan);

}  // namespace spdnn
