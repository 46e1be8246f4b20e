// Which layers to prune, and how far: the search of M. Pietron & D. Zurek (arXiv 2011.06295, algorithm 2), which leaves
// a layer dense that gains no time, with predicted times and one order of moves instead of candidates at random.

#include "inference/prune/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "inference/prune/node_seconds.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::array kTriedShares{0.5, 0.6, 0.7, 0.8, 0.9};

/// A structure n_of_m has one share.
std::vector<double> shares_to_try(const Structure& structure) {
  if (structure.kind == Structure::Kind::n_of_m) return {1 - static_cast<double>(structure.n) / structure.m};
  return {kTriedShares.begin(), kTriedShares.end()};
}

double squared(double number) { return number * number; }

/// A layer that goes on to a trial, and the seconds that this saves for each squared loss.
struct GainOfMove {
  std::size_t node = 0;
  std::size_t trial = 0;
  double gain = 0;
};

/// Looks for a better move than `best` of a layer that is at a trial (-1: as it is), where it takes `seconds`.
void consider(const std::vector<PruneTrial>& trials, std::size_t node, int at, double seconds,
              std::optional<GainOfMove>& best) {
  const double loss = at < 0 ? 0 : squared(trials[at].loss);
  for (std::size_t t = at < 0 ? 0 : static_cast<std::size_t>(at) + 1; t < trials.size(); ++t) {
    const double saved = seconds - trials[t].seconds;
    if (saved <= 0) continue;
    const double gain = saved / std::max(squared(trials[t].loss) - loss, 1e-12);
    if (!best || gain > best->gain) best = {node, t, gain};
  }
}

double score_of(const PruneMeasure& measure) {
  return measure.accuracy_after ? *measure.accuracy_after : *measure.agreement;
}

Shares shares_after(std::size_t nodes, const std::vector<PruneMove>& moves, std::size_t count) {
  Shares shares(nodes);
  for (std::size_t i = 0; i < count; ++i) shares[moves[i].node] = moves[i].share;
  return shares;
}

}  // namespace

Sensitivity sensitivity_of(const Pruner& pruner, const Measurer& calibration, const EngineSettings& predicted) {
  Sensitivity sensitivity(pruner.dense().nodes.size());
  for (const double share : shares_to_try(pruner.settings().structure)) {
    const std::vector<double> seconds = predicted_seconds(pruner.masked(pruner.shares_of({share, false})), predicted);
    for (const std::size_t n : prunable_nodes(pruner.dense())) sensitivity[n].push_back({share, 0, seconds[n]});
  }
  for (std::size_t n = 0; n < sensitivity.size(); ++n) {
    if (sensitivity[n].empty()) continue;
    const Pruner::Equations equations = pruner.equations_of(pruner.dense(), n);
    for (PruneTrial& trial : sensitivity[n])
      trial.loss = calibration.measured(pruner.pruned_alone(n, trial.share, equations)).distance;
  }
  return sensitivity;
}

std::vector<PruneMove> moves_by_gain(const Sensitivity& sensitivity, const std::vector<double>& dense) {
  std::vector<int> at(sensitivity.size(), -1);
  std::vector<PruneMove> moves;
  while (true) {
    std::optional<GainOfMove> best;
    for (std::size_t n = 0; n < sensitivity.size(); ++n)
      consider(sensitivity[n], n, at[n], at[n] < 0 ? dense[n] : sensitivity[n][at[n]].seconds, best);
    if (!best) return moves;
    at[best->node] = static_cast<int>(best->trial);
    moves.push_back({best->node, sensitivity[best->node][best->trial].share});
  }
}

void require_score(const Pruner& pruner, const Measurer& measurer, double least) {
  if (const double dense = score_of(measurer.measured(pruner.dense())); dense < least)
    throw UsageError("min_accuracy", fmt::format("the dense model has {:.4f}, less than {}", dense, least));
}

Shares most_moves(const Pruner& pruner, const Measurer& measurer, const std::vector<PruneMove>& moves, double least,
                  std::size_t& made) {
  const std::size_t nodes = pruner.dense().nodes.size();
  made = 0;
  std::size_t bad = moves.size() + 1;
  for (std::size_t tried = moves.size(); made + 1 < bad; tried = (made + bad) / 2) {  // all of them first
    const Shares shares = shares_after(nodes, moves, tried);
    (score_of(measurer.measured(pruner.pruned(shares).model)) >= least ? made : bad) = tried;
  }
  return shares_after(nodes, moves, made);
}

}  // namespace spdnn
