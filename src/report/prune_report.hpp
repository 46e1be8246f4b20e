#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn {

/// What pruning one layer alone, and repairing its weights, costs and saves.
struct PruneTrial {
  double share = 0;    ///< of zeros
  double loss = 0;     ///< PruneMeasure::distance on the calibration images
  double seconds = 0;  ///< of the layer, predicted
};

/// A node with weights, before and after.
struct PrunedLayer {
  std::size_t node = 0;  ///< from 0
  std::string name{};
  std::string operation{};
  bool left = false;  ///< its weights are as they were
  Offset weights = 0;
  Offset nonzeros_before = 0;
  Offset nonzeros_after = 0;
  double seconds_before = 0;  ///< predicted, for one batch
  double seconds_after = 0;
  double measured_before = 0;  ///< likewise measured, if PruneReport::timed_runs > 0
  double measured_after = 0;
  /// The error of its output on the calibration images, relative to the dense model's output, when its weights were
  /// taken away and after the repair; empty without one.
  std::optional<double> error_before{};
  std::optional<double> error_after{};
  std::vector<PruneTrial> trials{};  ///< of a search; otherwise empty
};

/// How well the pruned model does what the dense one does, on the measured images.
struct PruneMeasure {
  Index first = 0;  ///< the number of the first image, from 0
  Index images = 0;
  std::optional<double> accuracy_before{};  ///< with labels
  std::optional<double> accuracy_after{};
  std::optional<double> agreement{};  ///< the share of equal predictions; empty if the output is no list of classes
  double distance = 0;                ///< |outputs - dense outputs| / |dense outputs|, Euclidean
};

/// What `prune` did.
struct PruneReport {
  std::string model;
  std::string out;
  std::string method;    ///< for people: pattern, scores, repair
  Index calibrated = 0;  ///< images, from the first
  Index batch = 1;       ///< that times are predicted for
  int threads = 1;
  std::vector<PrunedLayer> layers{};
  double seconds_before = 0;  ///< of all nodes, predicted
  double seconds_after = 0;
  int timed_runs = 0;          ///< of each model, of which times are the shortest, node by node; 0: none was measured
  double measured_before = 0;  ///< of all nodes
  double measured_after = 0;
  std::optional<PruneMeasure> measure{};  ///< empty without images
  std::vector<std::string> notes{};
};

/// The quotient of two times in words, after the separator; nothing if none was taken, as of a model without nodes.
std::string times_as_fast(const char* separator, double before, double after);
/// All layers together; the times are of all nodes.
PrunedLayer total_of(const PruneReport& report);

/// For people: a line for each layer, and the sums.
std::string to_text(const PruneReport& report);
/// One JSON line (schema "spdnn-prune-1"), newline included.
std::string to_json(const PruneReport& report);

}  // namespace spdnn
