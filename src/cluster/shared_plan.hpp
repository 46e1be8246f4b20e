#pragma once

#include "cluster/communicator.hpp"
#include "core/types/plan.hpp"

namespace spdnn {

/// The root's plan on all ranks, except the expansion, which no engine reads: the root keeps that of the last layer,
/// from which activations are made; everything else is the identity. Arguments of other ranks are ignored. The arrays
/// exist once per node, in memory shared by its ranks; between nodes they are broadcast once. The root releases each
/// array as soon as it has been copied, unless it has other owners, so that the plan is never there twice. Alone, the
/// plan is returned as it is.
Plan share_plan(Communicator& ranks, Plan plan);

}  // namespace spdnn
