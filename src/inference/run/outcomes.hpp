#pragma once

#include "inference/run/work.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {

/// Puts the outcome of images first, first+1, ... after those of the images before.
void append_outcome(Outcome& all, const Outcome& part, Index first);

/// The outcome of a piece of work in the ids and the layers of the whole run, which has `depth` layers. Counts before
/// the first layer of the work are unknown. Activations are unchanged.
Outcome in_whole_run(Outcome outcome, const Work& work, Index depth);

/// Adds outcomes of other images, all with ids of the whole run, and puts everything in the order of the ids.
/// Activations stay as they are.
void merge_outcomes(Outcome& all, const std::vector<Outcome>& parts);

}  // namespace spdnn
