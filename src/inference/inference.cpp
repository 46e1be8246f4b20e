// What one run does, from the specification to the report; the steps' own work is in the files beside this one.

#include "spdnn/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "inference/device_start.hpp"
#include "inference/engine_choice.hpp"
#include "inference/load.hpp"
#include "inference/machine.hpp"
#include "inference/run.hpp"
#include "inference/verify.hpp"
#include "plan/planner.hpp"

namespace spdnn {

namespace {

EngineRequest engine_request(const InferenceSpec& spec) {
  return {spec.variant, spec.device, spec.precision, spec.cuda_device};
}

RunOptions run_options(const InferenceSpec& spec, Precision precision) {
  RunOptions options;
  options.engine = {
      .precision = precision, .threads = spec.threads, .device = spec.cuda_device, .memory_limit = spec.memory_limit};
  options.trials = spec.trials;
  options.batch = spec.batch;
  options.progress = spec.progress;
  return options;
}

EngineChoice choose(const InferenceSpec& spec, const Plan& plan, const ImageSet& images) {
  const RunPlan run = plan_for(plan, images, Precision::fp32);
  EngineOptions options = run_options(spec, Precision::fp32).engine;
  options.may_overflow = run.may_overflow;
  return choose_engine(engine_request(spec), *run.plan, batch_info(images), options);
}

std::string bias_text(const Plan& plan) {
  if (plan.layers.empty()) return "0";
  double low = plan.layers[0].bias.min();
  double high = plan.layers[0].bias.max();
  for (const Layer& layer : plan.layers) {
    low = std::min(low, layer.bias.min());
    high = std::max(high, layer.bias.max());
  }
  return low == high ? fmt::format("{:g}", low) : fmt::format("{:g}..{:g}", low, high);
}

/// Images without a non-zero are not counted, as in all rates.
std::optional<double> computed_edges(const Plan& plan, const Outcome& outcome, Index images) {
  const bool all = !plan.passes.dead && !plan.passes.saturated && !plan.passes.identical;
  double sum = 0;
  for (Index k = 0; k < plan.depth(); ++k) {
    const std::int64_t active = k == 0 || all ? std::int64_t{images} : outcome.active[k - 1];
    if (active < 0) return std::nullopt;
    sum += static_cast<double>(active) * static_cast<double>(plan.layers[k].weights.entries());
  }
  return sum;
}

void describe(const Plan& plan, const ImageSet& images, const EngineChoice& choice, const InferenceSpec& spec,
              Report& report) {
  report.neurons = plan.provenance.given_neurons;
  report.bias = bias_text(plan);
  report.cap = plan.cap;
  report.images = images.images();
  report.edges = plan.provenance.given_edges;
  report.variant = choice.variant->name;
  report.why = choice.why;
  report.device = choice.variant->device;
  report.machine = this_machine(report.device);
  report.notes = plan.provenance.notes;
  report.precision = choice.precision;
  report.trials = spec.trials;
  report.threads = host_threads(spec.threads);
}

void take_over(RunResult result, Report& report) {
  report.stored_edges = result.plan->edges();
  report.passes = result.plan->passes;
  report.batch = result.batch;
  report.seconds.upload = result.upload_seconds;
  report.seconds.upload_images = result.load_seconds;
  report.seconds.infer = spread(std::move(result.infer_seconds));
  report.seconds.gather = result.gather_seconds;
  report.outcome = std::move(result.outcome);
  report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
}

/// Refuses at once, before a device is started up, what this machine does not give.
InferenceSpec checked(InferenceSpec spec) {
  require_threads(spec.threads);
  return spec;
}

void require(bool before, const char* what) {
  if (!before) throw std::logic_error(fmt::format("Inference: {}", what));
}

}  // namespace

class Inference::Steps {
 public:
  explicit Steps(InferenceSpec spec)
      : spec_(checked(std::move(spec))),
        start_(may_choose_cuda(engine_request(spec_)) || spec_.plan_device == Device::cuda, spec_.cuda_device) {}

  /// The network is needed in memory only where there is no stored plan to run, or something else has to be run too.
  /// Images are read before the plan is made, while the device starts.
  void load() {
    require(!images_.has_value(), "load() is called once");
    truth_ = read_truth(spec_.truth);
    Stopwatch watch;
    if ((plan_ = stored_plan(spec_.network, spec_.passes))) {
      plan_was_stored_ = true;
      official_network_ = claims_official(*plan_);
      report_.seconds.plan = watch.lap();
    }
    if (needs_network() || !plan_) {
      GivenNetwork given = load_network(spec_.network, spec_.progress);
      if (plan_) check_stored_plan(spec_.network.path, *plan_, given.network);
      official_network_ = given.official;
      reader_notes_ = std::move(given.notes);
      network_ = std::move(given.network);
    }
    images_ = load_images(spec_.images, network_ ? network_->inputs() : plan_->inputs(), spec_.progress);
    const auto empty = notes_on_empty_files(spec_.truth.path, spec_.images.path);
    reader_notes_.insert(reader_notes_.end(), empty.begin(), empty.end());
    report_.seconds.read = watch.lap();
  }

  void load(Network network, ImageSet images) {
    require(!images_.has_value(), "load() is called once");
    truth_ = read_truth(spec_.truth);
    const Stopwatch watch;
    network.validate();
    if (images.neurons() != network.inputs())
      throw std::invalid_argument(
          fmt::format("the images have {} neurons, but the network has {} inputs", images.neurons(), network.inputs()));
    official_network_ = is_official(network);
    network_ = std::move(network);
    images_ = std::move(images);
    report_.seconds.read = watch.seconds();
  }

  void plan() {
    require(images_.has_value(), "plan() comes after load()");
    if (plan_) return;
    const Stopwatch watch;
    const planning::TwinFinder find_twins =
        finder_for(spec_.plan_device, *network_, spec_.passes, spec_.cuda_device, start_);
    planned_on_cuda_ = spec_.passes.twins && find_twins != nullptr;
    plan_ = make_plan(*network_, spec_.passes, find_twins);
    if (!needs_network()) network_.reset();
    report_.seconds.plan = watch.seconds() - start_.seconds().waited;
  }

  void run() {
    require(plan_.has_value(), "run() comes after plan()");
    start_.wait();
    report_.seconds.start = start_.seconds();
    choice_ = choose(spec_, *plan_, *images_);
    check_second_runs();
    describe(*plan_, *images_, choice_, spec_, report_);
    if (plan_was_stored_) report_.notes.emplace_back("the plan was stored with the network");
    if (planned_on_cuda_) report_.notes.emplace_back(kPlannedOnCuda);
    report_.notes.insert(report_.notes.end(), reader_notes_.begin(), reader_notes_.end());
    RunResult result = spdnn::run(*choice_.variant, *plan_, *images_, run_options(spec_, choice_.precision));
    const Plan& ran = *result.plan;
    take_over(std::move(result), report_);
    report_.seconds.total = since_start_.seconds();
    report_.empty_images = images_->empty_images();
    report_.computed_edges = computed_edges(ran, report_.outcome, images_->images() - report_.empty_images);
    report_.verdict = unverified(report_.outcome.categories, "verifying was not asked for");
    has_run_ = true;
  }

  void verify() {
    require(has_run_, "verify() comes after run()");
    const Outcome& outcome = report_.outcome;
    report_.verdict = unverified(outcome.categories, "verifying did not finish");
    const Network* const network = network_ ? &*network_ : nullptr;
    report_.verdict = spdnn::verify(truth_, {*plan_, network, *images_, why_unofficial()}, outcome.categories);
    if (!outcome.overflow.empty()) report_.verdict = doubted(report_.verdict);
    if (spec_.compare) compare_with_dead();
    if (report_.precision == Precision::fp16) report_.against_fp32 = compare_with_fp32();
  }

  const Report& report() const { return report_; }

 private:
  bool needs_network() const { return spec_.compare || spec_.truth.sample > 0 || spec_.truth.everything; }

  /// Whether network and images are the challenge's own, by the digests of what they hold; nothing, or why not. Where a
  /// stored plan runs, its file's digest stands for the network, which is not read unless it is verified.
  std::string why_unofficial() const {
    if (!official_network_) return "this is no official problem";
    return is_official(*images_) ? "" : "the images are not the official ones";
  }

  /// Refuses before the first run what verify() could not run after it.
  void check_second_runs() {
    if (spec_.compare) {
      dead_ = make_plan(*network_, parse_passes("dead"));
      dead_choice_ = choose(spec_, *dead_, *images_);
      check_run(*dead_choice_.variant, *dead_, *images_, run_options(spec_, dead_choice_.precision));
    }
    if (choice_.precision == Precision::fp16)
      check_run(*choice_.variant, *plan_, *images_, run_options(spec_, Precision::fp32));
  }

  void compare_with_dead() {
    const Variant& variant = *dead_choice_.variant;
    const RunResult result = spdnn::run(variant, *dead_, *images_, run_options(spec_, dead_choice_.precision));
    const Verdict by_dead = judge(report_.outcome.categories, result.outcome.categories,
                                  fmt::format("--reduce {} by {}", to_string(result.plan->passes), variant.name));
    report_.compared = ComparedRun{std::string(variant.name), result.plan->passes, spread(result.infer_seconds),
                                   by_dead.status == Verdict::Status::passed};
    report_.verdict = contradicted(report_.verdict, by_dead);
  }

  /// What fp16 storage changes: its categories against those of the same run in fp32.
  Verdict compare_with_fp32() const {
    RunOptions options = run_options(spec_, Precision::fp32);
    options.trials = 1;
    const RunResult in_fp32 = spdnn::run(*choice_.variant, *plan_, *images_, options);
    return judge(report_.outcome.categories, in_fp32.outcome.categories, "fp32");
  }

  const InferenceSpec spec_;
  const Stopwatch since_start_;
  DeviceStart start_;
  Report report_;
  Truth truth_;
  std::optional<Network> network_;
  std::optional<ImageSet> images_;
  std::optional<Plan> plan_;
  EngineChoice choice_;
  std::optional<Plan> dead_;  ///< with `compare`: what the second run runs
  EngineChoice dead_choice_;
  std::vector<std::string> reader_notes_;
  bool official_network_ = false;  ///< by its digest, or that of the stored plan's file
  bool plan_was_stored_ = false;
  bool planned_on_cuda_ = false;
  bool has_run_ = false;
};

Inference::Inference(InferenceSpec spec) : steps_(std::make_unique<Steps>(std::move(spec))) {}
Inference::~Inference() = default;

void Inference::load() { steps_->load(); }
void Inference::load(Network network, ImageSet images) { steps_->load(std::move(network), std::move(images)); }
void Inference::plan() { steps_->plan(); }
void Inference::run() { steps_->run(); }
void Inference::verify() { steps_->verify(); }
const Report& Inference::report() const { return steps_->report(); }

}  // namespace spdnn
