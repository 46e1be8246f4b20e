#pragma once

#include <optional>
#include <string>
#include <vector>

#include "prune/least_squares.hpp"
#include "prune/select.hpp"
#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// How weights are chosen, and what is done about the loss.
struct PruneSettings : EngineSettings {
  Structure structure{};
  bool by_activations = false;  ///< scores are |w| times the root mean square of what it multiplies (Wanda)
  bool repair_weights = false;  ///< fits the weights that are left, and biases, to the outputs of the dense model
  bool repair_norms = false;    ///< re-estimates batch norms
};

/// The share of zeros that each node's weights are to have at least; none: they stay as they are.
using Shares = std::vector<std::optional<double>>;

/// Nodes with weights, but for those with filters of fewer than kFewWeights.
std::vector<std::size_t> prunable_nodes(const Model& model);

/// `share` for each prunable node; with `global`, the share of all their weights together, so that each layer has as
/// many as are among the highest scores of all.
struct WantedShare {
  double share = 0;
  bool global = false;
};

/// The work on a node that was pruned.
struct NodePruning {
  std::size_t node = 0;
  std::optional<double> error_before{};  ///< of its output on the calibration images, before the repair (Repaired)
  std::optional<double> error_after{};
};

struct PrunedModel {
  Model model;
  std::vector<NodePruning> nodes;
  std::vector<std::string> notes;
};

/// Prunes a model layer by layer.
class Pruner {
 public:
  /// What the least-squares fits of one layer need, by group; empty if its weights are not repaired.
  using Equations = std::vector<NormalEquations>;

  /// `calibration` has images of the model's input; it may have none where the settings need none. DataError if weights
  /// are quantised, UsageError if the model cannot be run.
  Pruner(Model dense, PruneSettings settings, Tensor calibration);

  Shares shares_of(const WantedShare& wanted) const;
  /// Layers are pruned by the scores of the dense model, and then repaired in the order of the nodes, so that each
  /// repair also makes up for what those before it have lost.
  PrunedModel pruned(const Shares& shares) const;
  /// The same without any repair.
  Model masked(const Shares& shares) const;
  /// Pruned in one layer alone. `equations` are equations_of(dense(), node), which are the same for all shares.
  Model pruned_alone(std::size_t node, double share, const Equations& equations) const;
  /// Of the node in a model whose nodes before it are pruned. Costs two runs of the calibration images.
  Equations equations_of(const Model& pruned, std::size_t node) const;
  const Model& dense() const { return dense_; }
  const PruneSettings& settings() const { return settings_; }

 private:
  CsrMatrix selected(std::size_t node, double share) const;
  bool repairs(std::size_t node) const;
  void repair(PrunedModel& pruned, std::size_t node) const;
  void repair_norm(Model& model, std::size_t node) const;

  Model dense_;
  PruneSettings settings_;
  Tensor calibration_;
  std::vector<std::vector<float>> scores_;  ///< by node; empty where it is not pruned
};

}  // namespace spdnn
