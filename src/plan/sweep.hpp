#pragma once

#include "core/types/plan.hpp"
#include "plan/passes/twins.hpp"
#include "spdnn/progress.hpp"

namespace spdnn::planning {

/// Applies plan.passes.twins and plan.passes.unused to a plan that holds the given network. A forward sweep renames the
/// inputs of each layer's rows to the stored ones, removes inputs that are always zero and groups twins; layers are
/// processed in parallel as long as `find_twins` finds all twins in the rows as given. A backward sweep over the stored
/// layers then drops neurons that nothing reads. Fills in layers and expansion; a layer that stays as it is goes on
/// sharing the network's storage. Cost: each given edge is read once or twice; memory beyond the network is that of the
/// stored rows, and one number per given neuron.
void reduce_layers(Plan& plan, const TwinFinder& find_twins);

/// The same for a plan whose layers are streamed, one after another; the reduced layers are held in memory. Returns
/// false, with the plan unchanged, if they take more than `most_bytes`.
bool reduce_stream(Plan& plan, std::size_t most_bytes, const ProgressCallback& progress);

}  // namespace spdnn::planning
