#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engines/engine.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/run/batch_loop.hpp"
#include "plan/image_facts.hpp"

namespace spdnn {

struct RunResult;

/// The engines of a plan, which stay from one run to the next if that is a run of the same variant and plan on images
/// of the same kind. An error ends them.
struct KeptEngines {
  const Variant* variant = nullptr;
  const Plan* plan = nullptr;
  Precision precision = Precision::fp32;
  bool may_overflow = false;
  BatchInfo batch;       ///< for which they were made
  bool largest = false;  ///< more images at a time were wanted, but the memory or the options did not allow that
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Engine> in_order;  ///< with `merge`: for borderline images
};

/// A run that is interrupted between two of its layers.
class InterruptedRun {
 public:
  virtual ~InterruptedRun() = default;
  /// The result of run() if it ended here.
  virtual RunResult result() = 0;
  /// The same, to be called once, on any thread and while the run goes on, from activations that are copied on the
  /// device. Empty where the engine cannot copy them.
  virtual std::function<RunResult()> result_beside() = 0;
};

/// Interrupts a run between two of its layers, to store its state, to end the run, or both.
class Interruption {
 public:
  virtual ~Interruption() = default;
  /// Seconds until the run is to be interrupted; 0 or less: now. Called between layers, at least a few dozen times a
  /// batch; on a CPU about every `LoopOptions::look_seconds`, and again once the returned seconds have passed. The host
  /// waits for a device now and then (pace.hpp), so that few layers are queued ahead; for an engine that queues all
  /// layers it is called at the end of the batch.
  virtual double due_in() = 0;
  /// Called when the interruption is due. Returns whether the run continues, with the same engine.
  virtual bool interrupt(InterruptedRun& run) = 0;
};

struct RunOptions : LoopOptions {
  EngineOptions engine;
  /// Keeps engines for later runs with the same EngineOptions, but for precision and overflow; see KeptEngines. Null:
  /// they end with the run.
  KeptEngines* kept = nullptr;
  bool share_devices = false;  ///< ranks may share CUDA devices
  /// Keeps the activations in the outcome, by stored neuron: only the root knows for which neurons of the given network
  /// these stand. Not for merged plans.
  bool keep_activations = false;
  Interruption* interruption = nullptr;  ///< of a run with one trial and no warm-up; null: none
};

/// The remaining work of an interrupted run. Images from `first` on that are not in `begun` have not been begun.
struct Unfinished {
  Index first = 0;  ///< images before this one are done
  Index layer = 0;  ///< the one that the images of `begun` enter next
  ImageSet begun;   ///< images first, first+1, ...: their activations
};

struct RunResult : LoopResult {
  const Plan* plan = nullptr;  ///< the one that ran, see plan_for(); lives as long as the one that was given
  Outcome outcome;             ///< of all images; every trial gave the same (std::logic_error otherwise)
  std::optional<Unfinished> unfinished;
};

/// The largest batch, at most `all.images`, whose working set fits the memory that is free on the variant's device,
/// then made as small as it can be without more rounds. DeviceError if not even one image fits, UsageError if the
/// variant does not support the run.
Index automatic_batch(const Variant& variant, const Plan& plan, const BatchInfo& all, const EngineOptions& options);
/// The memory of an engine for batches of `batch.images`, see Support::working_bytes: with `merge`, all of them may
/// have to be run again. UsageError if the variant does not support the run.
std::size_t batch_bytes(const Variant& variant, const Plan& plan, const BatchInfo& batch, const EngineOptions& options);

/// The result of run().
struct RunPlan {
  const Plan* plan = nullptr;  ///< the plan itself, or the one that it falls back on
  bool may_overflow = false;   ///< a sum of these images may exceed the largest number of the precision
  std::string why;             ///< why `merge` is not applied in this run; empty if it is
};

/// The plan that runs for these images: a merged plan only where its bounds hold for them. The choice, the report and
/// estimates of a run refer to this plan.
RunPlan plan_for(const Plan& plan, const ImageFacts& images, Precision precision);

/// The engine for the plan that plan_for() chooses for these images.
EngineChoice choose_engine(const EngineRequest& request, const Plan& plan, const ImageFacts& images,
                           EngineOptions options);

/// Throws the exceptions of run() before it makes an engine: UsageError if the variant does not support the run,
/// DeviceError if, with an automatic batch, not even one image fits.
void check_run(const Variant& variant, const Plan& plan, const ImageFacts& images, const RunOptions& options);

/// Runs a plan on images, batch after batch (batch_loop.hpp), borderline images of merged plans once more.
/// Notices whether sums may overflow and has the engine look for those that do (EngineOptions::may_overflow).
RunResult run(const Variant& variant, const RunPlan& chosen, const ImageSet& images, const RunOptions& options);
/// The same of the plan that plan_for() chooses for these images.
RunResult run(const Variant& variant, const Plan& plan, const ImageSet& images, const RunOptions& options);

}  // namespace spdnn
