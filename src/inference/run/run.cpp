#include "inference/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "engines/devices.hpp"
#include "engines/overflow.hpp"
#include "inference/run/activations.hpp"
#include "inference/run/largest_batch.hpp"
#include "inference/run/outcomes.hpp"
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

/// Adds the outcome of the borderline images, which are run separately. None overflows, because merged plans run only
/// if none can.
void merge_borderline(Outcome& outcome, const Outcome& rerun) {
  Outcome added;
  added.alive.assign(outcome.alive.size(), 0);
  added.active.assign(outcome.active.size(), 0);
  append_outcome(added, rerun, 0);
  for (Index& image : added.categories) image = outcome.borderline[image];
  added.borderline.clear();
  append_outcome(outcome, added, 0);
  std::sort(outcome.categories.begin(), outcome.categories.end());
}

/// A plan with the engines that run it.
class RunnablePlan final : public Runnable, private InterruptedRun {
  /// Images below which a device would idle; on a CPU, each thread has a block.
  static constexpr Index kLeastOnDevice = 2048;

 public:
  RunnablePlan(const Variant& variant, const RunPlan& chosen, const ImageSet& images, const RunOptions& options)
      : variant_(variant), plan_(*chosen.plan), images_(images), options_(options) {
    BatchInfo batch = batch_info(images);
    result_.plan = &plan_;
    result_.threads = host_threads(options.engine.threads);
    if (!chosen.why.empty()) result_.notes.push_back("merge is not applied in this run: " + chosen.why);
    least_ = variant.device == Device::cpu ? kDealtBlock * static_cast<Index>(result_.threads) : kLeastOnDevice;
    shares_ = options.batches != nullptr && can_share(batch);
    if (options.batches != nullptr && !shares_) batch.images = options.batches->largest(least_);
    if (options.kept != nullptr) engines_ = std::exchange(*options.kept, {});
    stays_ = can_stay(batch);
    result_.batch = stays_ ? engines_.batch.images : batch_for(batch);
    result_.outcome.alive.assign(plan_.depth(), 0);
    result_.outcome.active.assign(plan_.depth(), 0);
  }

  RunResult run() {
    const LoopWork work{.images = images_.images(),
                        .steps = plan_.depth(),
                        .device = variant_.device,
                        .ordinal = options_.engine.device,
                        .cancelled = options_.engine.cancelled,
                        .least = least_,
                        .may_be_interrupted = options_.interruption != nullptr};
    LoopOptions loop = options_;
    if (shares_) {
      loop.batches = nullptr;
      loop.batch = result_.batch;
    }
    run_in_batches(*this, work, loop, result_);
    if (shares_) result_.batches = taken();
    if (options_.keep_activations) result_.outcome.activations = join_rows(activations_);
    if (options_.kept != nullptr) *options_.kept = std::move(engines_);
    return std::move(result_);
  }

 private:
  void make(Index images) override {
    if (std::exchange(stays_, false)) return;
    engines_ = {};
    BatchInfo batch = batch_info(images_);
    batch.images = images;
    engines_ = {&variant_,
                &plan_,
                options_.engine.precision,
                options_.engine.may_overflow,
                batch,
                options_.batch != 0 || images < images_.images(),
                make_engine(variant_, std::make_shared<const Plan>(plan_), batch, options_.engine),
                {}};
    if (plan_.fallback) engines_.in_order = make_engine(variant_, plan_.fallback->in_order, batch, options_.engine);
  }
  void load(const ImageRange& images) override {
    batch_ = images.count == images_.images() ? images_ : images_.slice(images.first, images.count);
    engines_.engine->load(batch_);
    if (shares_) sharing().share([this](Index parts) { return options_.batches->take_part(parts); });
  }
  void reset() override { engines_.engine->reset(); }
  Index advance(Index first, Index until) override { return engines_.engine->advance(first, until); }
  void finish() override { found_ = outcome_of(batch_); }
  void keep(int trial) override {
    if (trial == 0)
      outcome_ = std::move(found_);
    else if (found_.categories != outcome_.categories)
      throw std::logic_error(fmt::format("trial {} gave other categories than the first", trial + 1));
  }
  void gather(const ImageRange& images) override {
    append_outcome(result_.outcome, outcome_, images.first);
    if (options_.keep_activations)
      activations_.push_back(final_activations(*engines_.engine, plan_, batch_, options_.engine));
  }
  double due_in() override { return options_.interruption->due_in(); }
  /// If the run does not continue, the result has the unfinished work.
  bool interrupt(const ImageRange& images, Index layer) override {
    at_ = {images.first, layer, {}};
    const bool goes_on = options_.interruption->interrupt(*this);
    if (!goes_on) result_.unfinished = unfinished();
    return goes_on;
  }
  RunResult result() override {
    RunResult so_far = result_;
    so_far.unfinished = unfinished();
    return so_far;
  }
  std::function<RunResult()> result_beside() override {
    auto* const engine = engine_to_hand_on();
    if (engine == nullptr) return {};
    const std::shared_ptr<const ActivationsCopy> copy = engine->copy_activations();
    if (copy == nullptr) return {};
    RunResult so_far = result_;
    so_far.unfinished = at_;
    return [copy, so_far = std::move(so_far), sharers = options_.engine.sharers]() mutable {
      so_far.unfinished->begun = if_memory_allows(sharers, [&](std::size_t most) { return copy->read(most); });
      return std::move(so_far);
    };
  }

  /// Whether the engine can take its images from the counter while it runs: all of them are loaded then, though the
  /// rows after the last layer are kept of none.
  bool can_share(const BatchInfo& all) const {
    const EngineOptions& engine = options_.engine;
    if (options_.batch != 0 || options_.kept != nullptr || options_.keep_activations || plan_.depth() == 0)
      return false;
    if (!support_of(variant_, plan_, all, engine).shares) return false;
    return batch_bytes(variant_, plan_, all, engine) <= memory_budget(variant_.device, engine);
  }
  SharingEngine& sharing() const { return dynamic_cast<SharingEngine&>(*engines_.engine); }
  std::vector<ImageRange> taken() const {
    std::vector<ImageRange> batches;
    const Index size = sharing().images_per_part();
    for (const Index part : sharing().taken())
      batches.push_back({part * size, std::min(size, images_.images() - part * size)});
    return batches;
  }

  /// Whether engines of an earlier run can run these images.
  bool can_stay(const BatchInfo& batch) const {
    const KeptEngines& kept = engines_;
    return kept.engine != nullptr && kept.variant == &variant_ && kept.plan == &plan_ &&
           kept.precision == options_.engine.precision && kept.may_overflow == options_.engine.may_overflow &&
           kept.batch.binary == batch.binary && kept.batch.bits == batch.bits &&
           (kept.largest || batch.images <= kept.batch.images);
  }

  /// Images at a time. Engines that stay are made for all that later runs may bring.
  Index batch_for(const BatchInfo& batch) {
    engines_ = {};
    if (options_.batch == 0) return automatic_batch(variant_, plan_, batch, options_.engine);
    return options_.kept != nullptr ? options_.batch : std::min(options_.batch, batch.images);
  }

  Outcome outcome_of(const ImageSet& batch) {
    Outcome outcome = engines_.engine->outcome();
    if (!outcome.borderline.empty()) {
      Engine* const in_order = engines_.in_order.get();
      if (in_order == nullptr) throw std::logic_error("borderline images of a plan that was not merged");
      in_order->load(batch.select(outcome.borderline));
      for (Index layer = 0; layer < plan_.depth();) layer = in_order->advance(layer, plan_.depth());
      merge_borderline(outcome, in_order->outcome());
    }
    return outcome;
  }

  /// The engine, if a run that continues this one can begin with its activations, and not only with the batch's images:
  /// not where activations are no fp32 numbers, or where those before this layer are needed, too.
  InspectableEngine* engine_to_hand_on() const {
    const EngineOptions& options = options_.engine;
    if (at_.layer == 0 || options.precision != Precision::fp32 || options.may_overflow || plan_.fallback)
      return nullptr;
    return dynamic_cast<InspectableEngine*>(engines_.engine.get());
  }
  Unfinished unfinished() const {
    Unfinished work = at_;
    if (auto* const engine = engine_to_hand_on())
      work.begun = if_memory_allows(options_.engine.sharers, [&](std::size_t most) {
        return stored_activations(*engine, batch_.images(), plan_.outputs(at_.layer - 1), most);
      });
    return work;
  }
  /// The activations that take(most) gives; no images where host memory is short, so that the batch begins again.
  template <class Take>
  static ImageSet if_memory_allows(int sharers, const Take& take) {
    try {
      return {take(memory_budget(Device::cpu, {.sharers = sharers}))};
    } catch (const std::bad_alloc&) {
      return {};
    }
  }

  const Variant& variant_;
  const Plan& plan_;
  const ImageSet& images_;
  const RunOptions& options_;
  KeptEngines engines_;
  bool stays_ = false;   ///< these are those of an earlier run
  bool shares_ = false;  ///< the engine takes images from the counter while it runs
  ImageSet batch_;
  Unfinished at_;                       ///< where the run is interrupted, without activations
  Outcome found_;                       ///< of the last trial
  Outcome outcome_;                     ///< of the batch's first trial that counts
  std::vector<CsrMatrix> activations_;  ///< by batch, if they are kept
  Index least_ = 1;                     ///< images to take at a time beside other processes
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

EngineChoice choose_engine(const EngineRequest& request, const Plan& plan, const ImageFacts& images,
                           EngineOptions options) {
  const RunPlan run = plan_for(plan, images, Precision::fp32);
  options.may_overflow = run.may_overflow;
  return choose_engine(request, *run.plan, BatchInfo{images.images, images.binary, images.bits}, options);
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
    return RunnablePlan(variant, chosen, images, informed).run();
  });
}

RunResult run(const Variant& variant, const Plan& plan, const ImageSet& images, const RunOptions& options) {
  return run(variant, plan_for(plan, facts_of(images), options.engine.precision), images, options);
}

}  // namespace spdnn
