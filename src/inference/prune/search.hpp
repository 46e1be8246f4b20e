#pragma once

#include <vector>

#include "inference/prune/measure.hpp"
#include "inference/prune/prune_model.hpp"

namespace spdnn {

/// By node, what pruning it alone costs and saves; empty where nothing was tried.
using Sensitivity = std::vector<std::vector<PruneTrial>>;

/// Prunes each layer alone, with several shares of zeros, repairs its weights, and compares the outputs. `dense` has
/// the time of each node as it is; `predicted` are the settings of the times.
Sensitivity sensitivity_of(const Pruner& pruner, const Measurer& calibration, const EngineSettings& predicted);

/// One layer that is given a share.
struct PruneMove {
  std::size_t node = 0;
  double share = 0;
};
/// All moves that save time, in the order of the seconds saved per squared loss added: distances of independent errors
/// add up by their squares. A layer that is no faster with any share stays dense. `dense` has the predicted time of
/// each node as it is.
std::vector<PruneMove> moves_by_gain(const Sensitivity& sensitivity, const std::vector<double>& dense);

/// UsageError if the dense model's score, the accuracy or without labels the agreement, is below `least`.
void require_score(const Pruner& pruner, const Measurer& measurer, double least);

/// The shares after as many of these moves as leave the score at `least` or above: by bisection, as if each move could
/// only lower it. `made` becomes their number.
Shares most_moves(const Pruner& pruner, const Measurer& measurer, const std::vector<PruneMove>& moves, double least,
                  std::size_t& made);

}  // namespace spdnn
