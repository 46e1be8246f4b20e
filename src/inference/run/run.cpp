#include "inference/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "core/system/stopwatch.hpp"
#include "core/text/bytes_text.hpp"
#include "core/threads/cancellation.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "engines/devices.hpp"
#include "engines/overflow.hpp"
#include "inference/device/device_monitor.hpp"
#include "inference/run/activations.hpp"
#include "inference/run/largest_batch.hpp"
#include "inference/run/outcomes.hpp"
#include "inference/run/pace.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Why a merged plan's bounds do not hold for the images: a sentence, or nothing.
std::string reason_to_run_in_order(const ImageFacts& images, bool may_overflow) {
  if (!images.within_unit) return "an image has a value outside 0..1";
  return may_overflow ? "a sum may overflow" : "";
}

void check(const Plan& plan, const ImageSet& images) {
  if (plan.depth() > 0 && images.neurons() != plan.inputs())
    throw DataError(
        fmt::format("the images have {} neurons, but the network has {} inputs", images.neurons(), plan.inputs()));
}

/// Adds the outcome of the borderline images, run by themselves. None overflows: merged plans run where none can.
void settle_borderline(Outcome& outcome, const Outcome& rerun) {
  Outcome settled;
  settled.alive.assign(outcome.alive.size(), 0);
  settled.active.assign(outcome.active.size(), 0);
  append_outcome(settled, rerun, 0);
  for (Index& image : settled.categories) image = outcome.borderline[image];
  settled.borderline.clear();
  append_outcome(outcome, settled, 0);
  std::sort(outcome.categories.begin(), outcome.categories.end());
}

/// Tells a monitor, if there is one, of its own beginning and end, and of the trials in between.
class Watched {
 public:
  explicit Watched(DeviceMonitor* monitor) : monitor_(monitor) {
    if (monitor_ != nullptr) monitor_->begin();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() {
    if (monitor_ != nullptr) monitor_->end(trials_);
  }
  void trial_is_over() { ++trials_; }
  bool wants_more_trials() const { return monitor_ != nullptr && monitor_->wants_more(); }

 private:
  DeviceMonitor* monitor_;
  int trials_ = 0;
};

/// One plan, run over batch after batch.
class Runner {
  static constexpr Index kLooks = 32;  ///< whether to interrupt a batch, at least
  /// Images below which a device would idle; on a CPU, each thread has a block.
  static constexpr Index kLeastOnDevice = 2048;

 public:
  Runner(const Variant& variant, const RunPlan& chosen, const ImageSet& images, const RunOptions& options)
      : plan_(*chosen.plan),
        images_(images),
        options_(options),
        cancellation_(options.engine.cancelled),
        device_(variant.device),
        stride_(plan_.depth() / kLooks, options.look_seconds) {
    BatchInfo batch = batch_info(images);
    result_.plan = &plan_;
    result_.threads = host_threads(options.engine.threads);
    if (!chosen.why.empty()) result_.notes.push_back("merge stands aside in this run: " + chosen.why);
    least_ = device_ == Device::cpu ? kDealtBlock * static_cast<Index>(result_.threads) : kLeastOnDevice;
    if (options.batches != nullptr) batch.images = options.batches->largest(least_);
    result_.batch = options.batch != 0 ? std::min(options.batch, batch.images)
                                       : automatic_batch(variant, plan_, batch, options.engine);
    batch.images = result_.batch;
    result_.infer_seconds.assign(static_cast<std::size_t>(options.trials), 0.0);
    result_.outcome.alive.assign(plan_.depth(), 0);
    result_.outcome.active.assign(plan_.depth(), 0);
    const Stopwatch upload;
    engine_ = make_engine(variant, std::make_shared<const Plan>(plan_), batch, options.engine);
    if (plan_.fallback) in_order_ = make_engine(variant, plan_.fallback->in_order, batch, options.engine);
    result_.upload_seconds = upload.seconds();
  }

  RunResult run() {
    const Index images = images_.images();
    const Offset rounds = result_.batch == 0 ? 0 : (images - 1) / result_.batch + 1;
    layers_ = rounds * static_cast<Offset>(options_.warm_up + options_.trials) * plan_.depth();
    Progress progress(options_.progress, "infer", layers_);
    while (!result_.unfinished) {
      const ImageRange batch = next_batch();
      if (batch.count == 0) break;
      run_batch(batch.first, batch.count, progress);
    }
    if (options_.batches != nullptr) progress.update(layers_);
    if (options_.keep_activations) result_.outcome.activations = join_rows(activations_);
    return std::move(result_);
  }

 private:
  /// Without images at the end. What other processes have taken meanwhile counts as done.
  ImageRange next_batch() {
    const Index images = images_.images();
    if (options_.batches == nullptr) {
      const Index first = std::exchange(next_, next_ + std::min(result_.batch, images - next_));
      return {first, next_ - first};
    }
    const ImageRange batch = options_.batches->take({least_, result_.batch});
    if (batch.count > 0) done_ = layers_ * batch.first / images;
    return batch;
  }

  void run_batch(Index first, Index count, Progress& progress) {
    Stopwatch watch;
    const ImageSet batch = count == images_.images() ? images_ : images_.slice(first, count);
    engine_->load(batch);
    const double load_seconds = watch.lap();
    result_.upload_seconds += load_seconds;
    result_.load_seconds += load_seconds;
    for (int trial = 0; trial < options_.warm_up; ++trial) {
      engine_->reset();
      advance(progress);
      outcome_of(batch);
    }
    place_ = {first, batch.images()};
    if (options_.warm_up > 0) result_.warm_up_seconds += watch.lap();
    Outcome outcome;
    if (!run_trials(batch, progress, outcome)) return;
    watch.lap();
    append_outcome(result_.outcome, outcome, first);
    result_.batches.push_back({first, count});
    if (options_.keep_activations) activations_.push_back(final_activations(*engine_, plan_, batch, options_.engine));
    result_.gather_seconds += watch.seconds();
  }

  /// Those that count; false where the run was ended.
  bool run_trials(const ImageSet& batch, Progress& progress, Outcome& outcome) {
    Watched watched(options_.monitor);
    for (std::size_t trial = 0; trial < result_.infer_seconds.size(); ++trial) {
      infer_.lap();
      engine_->reset();
      if (!advance(progress, options_.interruption)) return false;
      Outcome this_time = outcome_of(batch);
      result_.infer_seconds[trial] += infer_.seconds();
      if (trial == 0)
        outcome = std::move(this_time);
      else if (this_time.categories != outcome.categories)
        throw std::logic_error(fmt::format("trial {} gave other categories than the first", trial + 1));
      watched.trial_is_over();
    }
    Stopwatch watch;
    while (watched.wants_more_trials() && !due()) {
      repeat_unseen(batch);
      result_.warm_up_seconds += watch.lap();
      watched.trial_is_over();
    }
    return true;
  }

  /// A trial that counts in no time and that progress does not show.
  void repeat_unseen(const ImageSet& batch) {
    const Offset done = done_;
    Progress unseen({}, "infer", 0);
    engine_->reset();
    advance(unseen);
    outcome_of(batch);
    done_ = done;
  }

  bool due() const { return options_.interruption != nullptr && options_.interruption->due_in() <= 0; }

  /// From the first layer to the last, or to one at which the run is ended: then false.
  bool advance(Progress& progress, Interruption* interruption = nullptr) {
    Pace pace;
    Stopwatch since_wait;
    for (Index layer = 0; layer < plan_.depth();) {
      cancellation_.check();
      Index at_once = plan_.depth();
      if (interruption != nullptr) {
        double due_in = interruption->due_in();
        if (due_in <= 0) {
          if (!interrupt(*interruption, layer)) return false;
          due_in = interruption->due_in();
          since_wait.lap();
        }
        at_once = device_ == Device::cpu ? stride_.layers_within(due_in) : std::max<Index>(1, plan_.depth() / kLooks);
      }
      const Index next = engine_->advance(layer, std::min(plan_.depth() - layer, at_once) + layer);
      done_ += next - layer;
      progress.update(std::min(done_, layers_));
      const Index layers = next - std::exchange(layer, next);
      if (interruption == nullptr) continue;
      if (device_ == Device::cpu) {
        stride_.took(layers, since_wait.lap());
      } else if (layer < plan_.depth() && pace.due()) {
        wait_for(device_, options_.engine.device);
        pace.waited(since_wait.lap());
      }
    }
    return true;
  }

  /// Before `layer` of the batch. Whether the run goes on; where it does not, the result has what is unfinished.
  bool interrupt(Interruption& interruption, Index layer) {
    if (device_ != Device::cpu) wait_for(device_, options_.engine.device);
    result_.infer_seconds.front() += infer_.lap();
    result_.unfinished = Unfinished{place_.first, layer, begun(place_.images, layer)};
    const bool goes_on = interruption.interrupt(result_);
    if (goes_on) result_.unfinished.reset();
    result_.interrupted_seconds += infer_.lap();
    return goes_on;
  }

  Outcome outcome_of(const ImageSet& batch) {
    Outcome outcome = engine_->outcome();
    if (!outcome.borderline.empty()) {
      if (!in_order_) throw std::logic_error("borderline images of a plan that was not merged");
      in_order_->load(batch.select(outcome.borderline));
      for (Index layer = 0; layer < plan_.depth();) layer = in_order_->advance(layer, plan_.depth());
      settle_borderline(outcome, in_order_->outcome());
    }
    return outcome;
  }

  /// The batch's activations, for a run that continues this one; no images where it has to begin the batch again:
  /// where activations are no fp32 numbers, where those before this layer are needed, too, or where memory is short.
  ImageSet begun(Index images, Index layer) {
    auto* const engine = dynamic_cast<InspectableEngine*>(engine_.get());
    const EngineOptions& options = options_.engine;
    if (layer == 0 || engine == nullptr || options.precision != Precision::fp32 || options.may_overflow ||
        plan_.fallback)
      return {};
    const std::size_t room = memory_budget(Device::cpu, {.sharers = options.sharers});
    try {
      return {stored_activations(*engine, images, plan_.outputs(layer - 1), room)};
    } catch (const std::bad_alloc&) {
      return {};
    }
  }

  /// The batch under way.
  struct Place {
    Index first = 0;
    Index images = 0;
  };

  const Plan& plan_;
  const ImageSet& images_;
  const RunOptions& options_;
  Cancellation cancellation_;  ///< between batches and trials, for engines that do not ask
  Device device_;
  Stride stride_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Engine> in_order_;    ///< with `merge`: for borderline images
  std::vector<CsrMatrix> activations_;  ///< by batch, where they are kept
  Index least_ = 1;                     ///< images to take at a time beside other processes
  Index next_ = 0;                      ///< the first image of the next batch
  Offset layers_ = 0;                   ///< to do, over batches and trials
  Offset done_ = 0;                     ///< of these
  Place place_;
  Stopwatch infer_;  ///< since the trial began, or went on after an interruption
  RunResult result_;
};

/// How many threads would do where all of them do not, as advice at the end of a sentence; otherwise nothing.
std::string fewer_threads_that_fit(const Variant& variant, const Plan& plan, const BatchInfo& batch,
                                   const EngineOptions& options, std::size_t budget) {
  EngineOptions fewer = options;
  for (fewer.threads = host_threads(options.threads) - 1; fewer.threads > 0; --fewer.threads)
    if (const std::size_t bytes = batch_bytes(variant, plan, batch, fewer); bytes <= budget)
      return fmt::format("; with --threads {} it needs {}", fewer.threads, bytes_text(bytes));
  return {};
}

}  // namespace

std::size_t batch_bytes(const Variant& variant, const Plan& plan, const BatchInfo& batch,
                        const EngineOptions& options) {
  const Support support = support_of(variant, plan, batch, options);
  if (!support.takes()) throw UsageError(support.why_not);
  return support.working_bytes + (plan.fallback ? batch_bytes(variant, *plan.fallback->in_order, batch, options) : 0);
}

Index automatic_batch(const Variant& variant, const Plan& plan, const BatchInfo& all, const EngineOptions& options) {
  const Index images = all.images;
  const std::size_t budget = memory_budget(variant.device, options);
  const auto bytes = [&](Index batch) { return batch_bytes(variant, plan, {batch, all.binary, all.bits}, options); };
  const Index batch = largest_batch(images, images, budget, bytes);
  if (batch == 0 && images > 0)
    throw DeviceError(fmt::format("{} needs {} for a single image, but {} left for it{}", variant.name,
                                  bytes_text(bytes(1)), budget > 1 ? bytes_text(budget) + " are" : "nothing is",
                                  fewer_threads_that_fit(variant, plan, {1, all.binary, all.bits}, options, budget)));
  return batch;
}

RunPlan plan_for(const Plan& plan, const ImageFacts& images, Precision precision) {
  const Plan& in_order = plan.fallback ? *plan.fallback->in_order : plan;
  RunPlan chosen{&plan, may_overflow(in_order, images, precision), {}};
  if (plan.fallback) chosen.why = reason_to_run_in_order(images, chosen.may_overflow);
  if (!chosen.why.empty()) chosen.plan = &in_order;
  return chosen;
}

void check_run(const Variant& variant, const Plan& plan, const ImageFacts& images, const RunOptions& options) {
  const RunPlan chosen = plan_for(plan, images, options.engine.precision);
  EngineOptions engine = options.engine;
  engine.may_overflow = chosen.may_overflow;
  BatchInfo batch{images.images, images.binary, images.bits};
  if (options.batch == 0) {
    automatic_batch(variant, *chosen.plan, batch, engine);
  } else {
    batch.images = std::min(options.batch, batch.images);
    batch_bytes(variant, *chosen.plan, batch, engine);
  }
}

RunResult run(const Variant& variant, const RunPlan& chosen, const ImageSet& images, const RunOptions& options) {
  check(*chosen.plan, images);
  return with_memory_for(variant.name, "cannot run", [&] {
    RunOptions informed = options;
    informed.engine.may_overflow = chosen.may_overflow;
    informed.engine.in_steps = options.interruption != nullptr;
    return Runner(variant, chosen, images, informed).run();
  });
}

RunResult run(const Variant& variant, const Plan& plan, const ImageSet& images, const RunOptions& options) {
  return run(variant, plan_for(plan, facts_of(images), options.engine.precision), images, options);
}

}  // namespace spdnn
