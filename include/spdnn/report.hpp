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

/// A second plan's inference, printed beside the first (`--compare`).
struct ComparedRun {
  std::string variant;
  Passes passes;
  Spread infer;
  bool same_categories = false;
};

/// What a CUDA device did while the trials ran, as its driver tells; each is empty where the driver does not.
struct DeviceState {
  std::optional<Spread> sm_clock_mhz;
  std::optional<Spread> memory_clock_mhz;
  std::optional<Spread> temperature_c;
  std::optional<Spread> power_w;  ///< of the whole board
  /// Of the whole board, while all images' trials ran, and more of them until its counter could tell.
  std::optional<double> joules_per_trial;
};

/// Of a run whose layers did not fit into host memory.
struct StreamedRun {
  Index layers_at_once = 0;
  std::uint64_t bytes_read = 0;  ///< from the network's file, by upload and infer; 0 where the layers are generated
};

/// The checkpoints of a run that has a file for them, over all of its parts; PhaseSeconds::checkpoint has their time.
struct CheckpointSummary {
  std::optional<double> every;  ///< seconds from one to the next, at last; empty: none was written but at a stop
  int written = 0;              ///< while the run went on
  std::uint64_t bytes = 0;      ///< in these, together
  int lost_parts = 0;           ///< parts that ended without a stop, for instance with their node
  double lost_seconds = 0;      ///< what these did after their last checkpoints, at most: it was computed again
};

/// One run of a network: everything that the text report and the JSON line say.
struct Report : RunRecord {
  std::vector<Index> neurons;  ///< inputs, then outputs of each layer, as given
  std::string bias;            ///< one number, or the range of all biases
  std::optional<double> cap;
  Index empty_images = 0;   ///< of these, without a non-zero: not counted by rates
  Offset edges = 0;         ///< of the given network
  Offset stored_edges = 0;  ///< of the plan
  /// Edges of the plan's layers, each times the images that were still computed when the layer began; empty where the
  /// engine did not count them.
  std::optional<double> computed_edges;
  std::optional<DeviceState> device_state;  ///< of the first rank's device; empty where nobody asked or nothing is told
  Passes passes;
  int parts = 1;           ///< runs that this one was made in: more than one where it was stopped and continued
  PhaseSeconds earlier{};  ///< the sums over the parts before this one
  std::optional<CheckpointSummary> checkpoints;  ///< empty where no file was given for them
  std::optional<StreamedRun> streamed;           ///< empty where the plan was in memory
  std::string images_read_by;                    ///< which ranks, and how; empty for a process by itself
  Outcome outcome;
  Verdict verdict;
  std::optional<ComparedRun> compared;
  std::optional<Verdict> against_fp32;  ///< of a run below fp32: against the categories of the same run in fp32

  /// Images with a non-zero x edges of the given network per second; 0 when nothing was timed.
  double rate() const;
  /// computed_edges per second of infer: what the device did. Empty where the engine did not count.
  std::optional<double> rate_computed() const;
  /// The same edges as rate() per second of plan, share, upload and infer: what is left out has to be found first.
  double rate_with_setup() const;
  /// The same edges per second of the whole run, less the trials that are not counted.
  double rate_end_to_end() const;
};

/// The report for people: an aligned table, closing with the verdict.
std::string to_text(const Report& report);
/// One JSON line (schema "spdnn-run-1"), newline included.
std::string to_json(const Report& report);

}  // namespace spdnn
