#pragma once

#include "plan/passes/twins.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::planning {

/// Applies plan.passes.twins and plan.passes.unused to a plan that holds the given network: one sweep forward, in which
/// each layer's rows are renamed to stored inputs, always-zero ones struck out and twins grouped (layers side by side
/// as long as twins as given are all that there is), then one backward over the stored layers for neurons that nothing
/// reads. Fills in layers and expansion; a layer that stays as it is keeps sharing the network's storage. `find_twins`
/// is asked for the rows equal as given. Cost: each given edge is read once or twice; memory beyond the network: the
/// stored rows, and a number per given neuron.
void reduce_layers(Plan& plan, const TwinFinder& find_twins);

}  // namespace spdnn::planning
