#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/document.hpp"
#include "spdnn/model_report.hpp"
#include "spdnn/rewrites.hpp"
#include "spdnn/session.hpp"

namespace spdnn::bench {

/// How one model is timed.
struct ModelBench {
  std::string path;         ///< of the model, for messages and lines
  EngineSettings settings;  ///< the batch and the threads are those of a configuration
  Rewrites rewrites = kAllRewrites;
  double warm_up = 0.5;         ///< seconds of uncounted runs, at least one
  double seconds = 2;           ///< no run begins after these, unless `runs` is given
  std::optional<Index> runs{};  ///< number of runs, however long they take
  bool layers = false;          ///< time each node, too, in as many runs of their own as fit into `seconds`
};

/// The times of one number of images and of threads.
struct ModelTiming {
  std::string variant;
  Precision precision = Precision::fp32;
  Index batch = 0;
  int threads = 0;
  std::vector<double> seconds;        ///< of each run, ascending
  std::vector<NodeSeconds> layers{};  ///< the time of each node in a run
  double load = 0;                    ///< runnable threads of the machine per processor, as /proc/loadavg has it before

  /// The time that a share of the runs did not exceed: the smallest such one.
  double quantile(double share) const;
  double images_per_second() const { return batch / quantile(0.5); }
};

/// Times a model on random images in [-1, 1) of its shape: from "images in memory" to "outputs in memory". A model with
/// a fixed number of images takes that number only: UsageError for another.
ModelTiming time_model(const Model& model, const ModelBench& bench, Index batch, int threads);

/// A line of the table, after the one with its titles.
std::string timing_titles();
std::string timing_text(const ModelTiming& timing);
/// The nodes, each with its time and its share of their sum; empty if they were not timed.
std::string layers_text(const ModelTiming& timing);
nlohmann::ordered_json timing_json(const ModelBench& bench, const ModelTiming& timing);
/// All configurations, and bars of the nodes of each.
Document timing_document(const ModelBench& bench, const std::vector<ModelTiming>& timings);

}  // namespace spdnn::bench
