#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/outcome.hpp"
#include "spdnn/passes.hpp"
#include "spdnn/verdict.hpp"

namespace spdnn {

/// Minimum, median, maximum and sum of repeated measurements.
struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
  double sum = 0;
};
Spread spread(std::vector<double> samples);

/// Starting a device up goes on beside reading and planning.
struct StartSeconds {
  double took = 0;
  double waited = 0;  ///< for its end, once everything else was ready
};

/// Wall-clock seconds of each phase, as docs/timing.md defines them. Work that went on beside another phase counts as
/// far as the run had to wait for it, so that the phases do not overlap and, with other(), sum up to `total`.
struct PhaseSeconds {
  double load = 0;           ///< the program and its shared libraries into memory: processor time before main
  double join = 0;           ///< finding the other ranks: MPI's start-up
  double read = 0;           ///< network and images into memory, or generated
  double plan = 0;           ///< the passes, or loading a stored plan
  StartSeconds start;        ///< CUDA's; nothing on the CPU
  double share = 0;          ///< plan and images to the other ranks
  double upload = 0;         ///< plan and images into the engine's own form, on its device
  double upload_images = 0;  ///< the images' part of it
  double warm_up = 0;        ///< trials that are not counted: those before the others, and those for energy after them
  Spread infer;              ///< from "resident on the device" to "the host knows the categories"
  double checkpoint = 0;     ///< writing checkpoints while the run goes on
  double gather = 0;         ///< putting the batches, and the ranks, together
  double write = 0;          ///< the category file
  double total = 0;          ///< process start to the end of `write`; all trials included

  /// Adds the phases of another part of the same run; `infer` becomes the sum.
  void add(const PhaseSeconds& part);
  /// What is in no phase: options, the true categories, the choice of the variant and of the batch.
  double other() const;
};

/// How much ranks differ: minimum, median and maximum over them.
struct RankSpreads {
  int ranks = 1;
  int hosts = 1;
  Spread images;
  Spread upload;               ///< seconds
  Spread infer;                ///< seconds; of each rank the median of its trials
  int slowest = 0;             ///< the rank with the longest infer
  std::string slowest_host{};  ///< where it ran

  /// The longest infer as a multiple of the median; empty where the median is 0, as on more ranks than images.
  std::optional<double> slowest_over_median() const;
};

/// A second plan's inference, printed beside the first (`--compare`).
struct ComparedRun {
  std::string variant;
  Passes passes;
  Spread infer;
  bool same_categories = false;
};

/// The machine a run happened on. Device fields are empty for runs on the CPU.
struct Machine {
  std::string host;
  std::string cpu;
  std::string device;
  std::string driver;
  std::string cuda;
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

/// One run: everything that the text report and the JSON line say.
struct Report {
  std::vector<Index> neurons;  ///< inputs, then outputs of each layer, as given
  std::string bias;            ///< one number, or the range of all biases
  std::optional<double> cap;
  Index images = 0;
  Index empty_images = 0;   ///< of these, without a non-zero: not counted by rates
  Offset edges = 0;         ///< of the given network
  Offset stored_edges = 0;  ///< of the plan
  /// Edges of the plan's layers, each times the images that were still computed when the layer began; empty where the
  /// engine did not count them.
  std::optional<double> computed_edges;
  std::string variant;
  std::string why;  ///< why this variant was chosen; empty when it was named
  Device device = Device::cpu;
  Machine machine;
  std::optional<DeviceState> device_state;  ///< of the first rank's device; empty where nobody asked or nothing is told
  Passes passes;
  std::vector<std::string> notes;
  Precision precision = Precision::fp32;
  int trials = 1;
  int warm_up = 0;         ///< trials before these
  int parts = 1;           ///< runs that this one was made in: more than one where it was stopped and continued
  PhaseSeconds earlier{};  ///< the sums over the parts before this one
  std::optional<CheckpointSummary> checkpoints;  ///< empty where no file was given for them
  int threads = 1;
  Index batch = 0;
  std::optional<StreamedRun> streamed;  ///< empty where the plan was in memory
  PhaseSeconds seconds;                 ///< of several ranks, from `upload` on, the longest
  std::optional<RankSpreads> ranks;     ///< of a run on several
  std::string images_read_by;           ///< which ranks, and how; empty for a process by itself
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
