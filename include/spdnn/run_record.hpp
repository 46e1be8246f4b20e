#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spdnn/outcome.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Minimum, median, maximum and sum of repeated measurements.
struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
  double sum = 0;
};
Spread spread(std::vector<double> samples);

/// The start of a device, which overlaps reading and planning.
struct StartSeconds {
  double took = 0;
  double waited = 0;  ///< for its end after everything else was ready
};

/// Wall-clock seconds of each phase, as docs/timing.md defines them. Overlapping work counts only while the run waited
/// for it, so that the phases do not overlap and, with other(), sum up to `total`.
struct PhaseSeconds {
  double load = 0;           ///< loading the program and its shared libraries: processor time before main
  double join = 0;           ///< finding the other ranks: MPI's start-up
  double read = 0;           ///< network and images into memory, or generated
  double plan = 0;           ///< the passes, or loading a stored plan
  StartSeconds start;        ///< CUDA's; nothing on the CPU
  double share = 0;          ///< plan and images to the other ranks
  double upload = 0;         ///< plan and images into the engine's own form, on its device
  double upload_images = 0;  ///< the images' part of it
  double warm_up = 0;        ///< uncounted trials: those before the others, and those for energy after them
  Spread infer;              ///< from "resident on the device" to "the host knows the categories"
  double checkpoint = 0;     ///< writing periodic checkpoints
  double gather = 0;         ///< merging the results of batches and ranks
  double write = 0;          ///< the category file
  double total = 0;          ///< process start to the end of `write`; all trials included

  /// Adds the phases of another part of the same run; `infer` becomes the sum.
  void add(const PhaseSeconds& part);
  /// The time outside all phases: options, the true categories, the choice of the variant and of the batch.
  double other() const;
};

/// Differences between ranks: minimum, median and maximum over them.
struct RankSpreads {
  int ranks = 1;
  int hosts = 1;
  Spread images;
  Spread upload;  ///< seconds
  Spread infer;   ///< seconds; of each rank the median of its trials
  /// Batches or tiles of images that ranks took from their node's counter; empty with fixed shares.
  std::optional<Spread> taken{};
  int slowest = 0;             ///< the rank with the longest infer
  std::string slowest_host{};  ///< the machine of the run

  /// The longest infer as a multiple of the median; empty if the median is 0, as on more ranks than images.
  std::optional<double> slowest_over_median() const;
};

/// The machine of a run. Device fields are empty for runs on the CPU.
struct Machine {
  std::string host;
  std::string cpu;
  std::string device;
  std::string driver;
  std::string cuda;
};

/// The state of a CUDA device during the trials. Fields that the driver does not report are empty.
struct DeviceState {
  std::optional<Spread> sm_clock_mhz;
  std::optional<Spread> memory_clock_mhz;
  std::optional<Spread> temperature_c;
  std::optional<Spread> power_w;  ///< of the whole board
  /// Energy of the whole board per trial of all images; further trials may have run until the counter resolved them.
  std::optional<double> joules_per_trial;
};

/// The common part of reports on networks and on models: engine, machine, settings and times.
struct RunRecord {
  Index images = 0;
  std::string variant;
  std::string why;  ///< why this variant was chosen; empty if it was given by name
  Device device = Device::cpu;
  Precision precision = Precision::fp32;
  Machine machine;
  int threads = 1;
  Index batch = 0;  ///< images at a time
  int trials = 1;
  int warm_up = 0;  ///< trials before these
  std::vector<std::string> notes;
  PhaseSeconds seconds;                     ///< of several ranks the maximum, from `upload` on
  std::optional<RankSpreads> ranks;         ///< empty for a single process
  std::optional<DeviceState> device_state;  ///< of the first rank's device; empty if not requested or not available
};

}  // namespace spdnn
