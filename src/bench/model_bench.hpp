#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/timed_runs.hpp"
#include "core/text/json.hpp"
#include "spdnn/model_report.hpp"
#include "spdnn/rewrites.hpp"
#include "spdnn/session.hpp"

namespace spdnn::bench {

/// How one model is timed.
struct ModelBench {
  std::string path;         ///< of the model, for messages and lines
  EngineSettings settings;  ///< the batch and the threads are those of a configuration
  Rewrites rewrites = kAllRewrites;
  RunLimits limits;
  bool layers = false;            ///< time each node, too, in as many runs of their own as fit into the seconds
  bool with_onnxruntime = false;  ///< time onnxruntime as well, in turns
};

/// onnxruntime's times on the same images, and how far its outputs are from ours.
struct PeerTiming {
  std::string version;
  std::string host;      ///< node or python3
  bool written = false;  ///< it had the ONNX file that `convert` writes of the model, not the file itself
  TimedRuns times;
  std::size_t turns = 0;
  Spread ratio{};         ///< over the turns: our shortest run / its shortest
  OutputCheck outputs{};  ///< ours compared with its, of the output that is farthest from its tolerance

  bool agrees() const { return outputs.largest_excess <= 1; }
};

/// The times of one number of images and of threads.
struct ModelTiming {
  std::string variant;
  Precision precision = Precision::fp32;
  Index batch = 0;
  int threads = 0;
  int computing_threads = 0;  ///< of these, as many as compute: fewer where nodes are small
  TimedRuns times{};
  std::vector<NodeSeconds> layers{};  ///< the time of each node in a run
  double load = 0;                    ///< runnable threads of the machine per processor, as /proc/loadavg has it before
  std::optional<PeerTiming> with{};

  double images_per_second() const { return batch / times.median(); }
  /// False if onnxruntime computed something else, in a precision in which that is wrong.
  bool right() const { return !with || with->agrees() || below_fp32(precision); }
};

/// Times a model on random images in [-1, 1) of its shape: from "images in memory" to "outputs in memory". A model with
/// a fixed number of images takes that number only: UsageError for another. DeviceError if onnxruntime is asked for and
/// missing, DataError if it refuses the model.
ModelTiming time_model(const Model& model, const ModelBench& bench, Index batch, int threads);

/// A line of the table, after the one with its titles; with onnxruntime, its line and one that compares.
std::string timing_titles();
std::string timing_text(const ModelTiming& timing);
/// The nodes, each with its time and its share of their sum; empty if they were not timed.
std::string layers_text(const ModelTiming& timing);
Json timing_json(const ModelBench& bench, const ModelTiming& timing);

}  // namespace spdnn::bench
