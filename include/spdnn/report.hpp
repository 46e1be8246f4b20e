#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/outcome.hpp"
#include "spdnn/passes.hpp"
#include "spdnn/run_record.hpp"
#include "spdnn/verdict.hpp"

namespace spdnn {

/// The second run of `--compare`.
struct ComparedRun {
  std::string variant;
  Passes passes;
  Spread infer;
  bool same_categories = false;
};

/// For a run whose layers did not fit into host memory.
struct StreamedRun {
  Index layers_at_once = 0;
  std::uint64_t bytes_read = 0;  ///< from the network's file, by upload and infer; 0 for generated layers
};

/// The checkpoints of a run, over all of its parts; PhaseSeconds::checkpoint has their time.
struct CheckpointSummary {
  std::optional<double> every;  ///< interval in seconds at the end of the run; empty: written only at a stop
  int written = 0;              ///< number of periodic checkpoints
  std::uint64_t bytes = 0;      ///< of all of these
  int lost_parts = 0;           ///< parts that ended without a stop, for instance with their node
  double lost_seconds = 0;      ///< upper bound on their work after their last checkpoints, which was repeated
};

/// One run of a network: all contents of the text report and the JSON line.
struct Report : RunRecord {
  std::vector<Index> neurons;  ///< inputs, then outputs of each layer, as given
  std::string bias;            ///< one number, or the range of all biases
  std::optional<double> cap;
  Index empty_images = 0;   ///< images without a non-zero: not counted by rates
  Offset edges = 0;         ///< of the given network
  Offset stored_edges = 0;  ///< of the plan
  /// Sum over the plan's layers of edges x images still computed at the layer's start; empty if the engine did not
  /// count them.
  std::optional<double> computed_edges;
  Passes passes;
  int parts = 1;                                 ///< number of runs, more than one if it was stopped and continued
  PhaseSeconds earlier{};                        ///< the sums over the parts before this one
  std::optional<CheckpointSummary> checkpoints;  ///< empty without a checkpoint file
  std::optional<StreamedRun> streamed;           ///< empty if the plan was in memory
  std::string images_read_by;                    ///< which ranks, and how; empty for a single process
  Outcome outcome;
  Verdict verdict;
  std::optional<ComparedRun> compared;
  std::optional<Verdict> against_fp32;  ///< of a run below fp32: against the categories of the same run in fp32

  /// Images with a non-zero x edges of the given network per second; 0 when nothing was timed.
  double rate() const;
  /// computed_edges per second of infer: the device's actual work. Empty if the engine did not count.
  std::optional<double> rate_computed() const;
  /// The same edges as rate() per second of plan, share, upload and infer, as redundant work must be found first.
  double rate_with_setup() const;
  /// The same edges per second of the whole run without its warm-up trials.
  double rate_end_to_end() const;
};

/// The report for people: an aligned table, closing with the verdict.
std::string to_text(const Report& report);
/// One JSON line (schema "spdnn-run-1"), newline included.
std::string to_json(const Report& report);

}  // namespace spdnn
