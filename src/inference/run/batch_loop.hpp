#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inference/run/batch_source.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

class DeviceMonitor;

/// A plan or a model with its engine and its results: the differences between networks and models in the loop of
/// batches and trials.
class Runnable {
 public:
  virtual ~Runnable() = default;
  Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;

  /// Makes the engine for this number of images at a time, in place of an earlier one.
  virtual void make(Index batch) = 0;
  /// Makes these images resident.
  virtual void load(const ImageRange& images) = 0;
  virtual void reset() = 0;
  /// Takes steps, layers or nodes, as Engine::advance() does.
  virtual Index advance(Index first, Index until) = 0;
  /// Waits for the result of the trial that was advanced to its end.
  virtual void finish() = 0;
  /// Keeps the result of a trial that counts: of the first itself, of later ones whether it is the same.
  virtual void keep(int trial) = 0;
  /// Puts the kept result to those of the batches before.
  virtual void gather(const ImageRange& images) = 0;
  /// Whether the run is to be interrupted: seconds until then, 0 or less for now. Only of runs that may be.
  virtual double due_in() { return 0; }
  /// Interrupts it before `step` of these images. Returns whether it continues.
  virtual bool interrupt(const ImageRange& /*images*/, Index /*step*/) { return true; }
};

/// UsageError for fewer trials than one, or warm-up trials than none; DeviceError if the system does not allow that
/// many threads.
void check_settings(const RunSettings& settings);

struct LoopOptions {
  int trials = 1;
  int warm_up = 0;  ///< trials of each batch before these
  Index batch = 0;  ///< images at a time; 0: as many as fit into memory, and fewer if it still runs out
  /// From which the run takes its batches, beside other processes; null: it has all images, one batch after another.
  BatchSource* batches = nullptr;
  ProgressCallback progress;
  DeviceMonitor* monitor = nullptr;  ///< notified when trials begin and end; may be null
  double look_seconds = 5;           ///< between two questions whether to interrupt a run on the CPU
};

/// The loop's interface to a runnable.
struct LoopWork {
  Index images = 0;
  Index steps = 0;  ///< of a trial: layers or nodes
  Device device = Device::cpu;
  int ordinal = 0;                       ///< which of the visible devices
  std::function<bool()> cancelled = {};  ///< asked between batches, trials and steps; empty: never
  Index least = 1;                       ///< images to take at a time beside other processes
  bool may_be_interrupted = false;       ///< of a run with one trial and no warm-up
};

struct LoopTimes {
  std::vector<double> infer_seconds;  ///< one per trial, summed over batches
  double upload_seconds = 0;          ///< engine construction and load()
  double load_seconds = 0;            ///< of these, load(): the images
  double warm_up_seconds = 0;         ///< all trials that are not counted
  double gather_seconds = 0;          ///< putting batches together
  double interrupted_seconds = 0;     ///< by interruptions; in none of the others
};

struct LoopResult : LoopTimes {
  int threads = 0;                    ///< host threads
  Index batch = 0;                    ///< images at a time
  std::vector<ImageRange> batches{};  ///< that were run to their end, in this order
  std::vector<std::string> notes{};   ///< on this run
};

/// The one loop that every engine runs in: batches, trials, timers, progress, stops. `result.batch` is the batch to
/// begin with; where memory runs out and LoopOptions::batch leaves it free, a batch is begun again in halves. `infer`
/// runs from "resident on the device" to "the host knows the result" (docs/timing.md has all phases).
void run_in_batches(Runnable& runnable, const LoopWork& work, const LoopOptions& options, LoopResult& result);

}  // namespace spdnn
