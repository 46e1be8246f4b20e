#include <fmt/format.h>

#include "cli/result_files.hpp"
#include "core/background.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "engines/devices.hpp"
#include "inference/engine_choice.hpp"
#include "inference/load.hpp"
#include "inference/plan_device.hpp"
#include "inference/run.hpp"
#include "inference/verify.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/report.hpp"

namespace spdnn::cli {

namespace {

po::options_description infer_options() {
  po::options_description run("Run", 120, 60);
  run.add_options()                                                                                                  //
      ("variant", po::value<std::string>()->default_value("auto"), "engine; see spdnn variants")                     //
      ("reduce", po::value<std::string>()->default_value("all"), "exact passes: all, dead, none or a list")          //
      ("device", po::value<std::string>()->default_value("auto"), "auto, cpu or cuda")                               //
      ("plan-device", po::value<std::string>()->default_value("auto"), "finds twins: auto, cpu or cuda")             //
      ("precision", po::value<std::string>(), "fp32, fp64 or fp16 (against fp32); default: the variant's first")     //
      ("trials", po::value<std::string>()->default_value("1"), "repeat the inference so often")                      //
      ("batch", po::value<std::string>()->default_value("auto"), "images at a time; auto: as many as memory takes")  //
      ("threads", po::value<std::string>(), "host threads; default: all")                                            //
      ("compare", "time --reduce dead as well and print its rate beside")                                            //
      ("truth", po::value<std::string>(), "file of the true categories")                                             //
      ("verify", po::value<std::string>(), "recompute K images (or all) with cpu_reference and compare")             //
      ("categories", po::value<std::string>(), "write the categories here (-: stdout), in the challenge's format")   //
      ("json", po::value<std::string>(), "write the report here (-: stdout) as one JSON line");
  po::options_description all("Options", 120, 60);
  all.add(network_options()).add(image_options()).add(run);
  return all;
}

RunOptions run_options(const po::variables_map& values) {
  RunOptions options;
  if (const auto threads = text_of(values, "threads")) options.engine.threads = parse_threads(*threads);
  options.trials = static_cast<int>(parse_count("trials", values["trials"].as<std::string>()));
  const std::string batch = values["batch"].as<std::string>();
  if (batch != "auto") options.batch = parse_count("batch", batch);
  options.progress = parse_progress(values["progress"].as<std::string>());
  return options;
}

Precision precision_for(const Variant& variant, const po::variables_map& values) {
  const auto text = text_of(values, "precision");
  if (!text) return variant.precisions.front();
  for (const Precision precision : variant.precisions)
    if (to_string(precision) == *text) return precision;
  throw UsageError(fmt::format("--precision: {} does not compute in '{}'; see spdnn variants", variant.name, *text));
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

/// Edges of a network from which on the device finds its twins sooner than the CPU does: below, the device is ready so
/// late that the CPU, which does not wait for it, is done (measured on an H200 with 16 cores: 65536 neurons, 120
/// layers).
constexpr Offset kEdgesWorthADevice = Offset{512} << 20U;

/// Starts the CUDA device up, where it may be needed, on a thread of its own.
class DeviceStart {
 public:
  explicit DeviceStart(bool needed) {
    if (needed) start_.emplace([] { return start_up(Device::cuda); });
  }
  bool needed() const { return start_.has_value(); }
  /// Until the device is ready.
  void wait() {
    if (!start_ || over_) return;
    const Stopwatch watch;
    seconds_.took = start_->get();
    seconds_.waited = watch.seconds();
    over_ = true;
  }
  const StartSeconds& seconds() const { return seconds_; }

 private:
  std::optional<Background<double>> start_;
  bool over_ = false;
  StartSeconds seconds_;
};

DeviceStart begin_start(const po::variables_map& values) {
  return DeviceStart(may_choose_cuda(values["variant"].as<std::string>(), values["device"].as<std::string>()) ||
                     plan_device(values, PlanDevice::cpu) == PlanDevice::cuda);
}

/// Waits for the device where it is to find twins.
planning::TwinFinder finder_for(const po::variables_map& values, const Network& network, const Passes& passes,
                                DeviceStart& start) {
  const bool pays = start.needed() && passes.twins && network.edges() >= kEdgesWorthADevice;
  const PlanDevice device = plan_device(values, pays ? PlanDevice::cuda_if_usable : PlanDevice::cpu);
  if (device != PlanDevice::cpu) start.wait();
  return finder_on(device);
}

/// The network is needed in memory only where there is no stored plan to run, or something else has to be run too.
struct Prepared {
  std::optional<GivenNetwork> given;
  Plan plan;
  ImageSet images;
  bool official_network = false;  ///< by its digest, or that of the stored plan's file
  bool planned_on_cuda = false;
  bool plan_was_stored = false;
  std::vector<std::string> reader_notes;
};

/// Images are read before the plan is made, while the device starts.
Prepared prepare(const po::variables_map& values, const Passes& passes, DeviceStart& start, PhaseSeconds& seconds) {
  Prepared prepared;
  Stopwatch watch;
  const bool needs_network = values.count("compare") != 0 || values.count("verify") != 0;
  if (auto stored = stored_plan(values, passes)) {
    prepared.plan = std::move(*stored);
    prepared.plan_was_stored = true;
    prepared.official_network = claims_official(prepared.plan);
    seconds.plan = watch.lap();
  }
  if (needs_network || !prepared.plan_was_stored) {
    prepared.given = load_network(values);
    prepared.official_network = prepared.given->official;
    if (prepared.plan_was_stored)
      check_stored_plan(*text_of(values, "network"), prepared.plan, prepared.given->network);
    prepared.reader_notes = prepared.given->notes;
  }
  prepared.images = load_images(values, prepared.given ? prepared.given->network.inputs() : prepared.plan.inputs());
  const auto empty = notes_on_empty_files(values);
  prepared.reader_notes.insert(prepared.reader_notes.end(), empty.begin(), empty.end());
  seconds.read = watch.lap();
  if (!prepared.plan_was_stored) {
    const planning::TwinFinder find_twins = finder_for(values, prepared.given->network, passes, start);
    prepared.planned_on_cuda = passes.twins && find_twins != nullptr;
    prepared.plan = make_plan(prepared.given->network, passes, find_twins);
    if (!needs_network) prepared.given.reset();
    seconds.plan = watch.lap() - start.seconds().waited;
  }
  return prepared;
}

/// What --variant, --device and --precision ask for, for this plan.
EngineChoice choose(const po::variables_map& values, const Plan& plan, const ImageSet& images, EngineOptions options) {
  const RunPlan run = plan_for(plan, images, Precision::fp32);
  options.may_overflow = run.may_overflow;
  return choose_engine(values["variant"].as<std::string>(), values["device"].as<std::string>(),
                       text_of(values, "precision"), *run.plan, batch_info(images), options);
}

/// Whether network and images are the challenge's own, by the digests of what they hold; nothing, or why not. Where a
/// stored plan runs, its file's digest stands for the network, which is not read: `--verify` reads and checks it.
std::string why_unofficial(const Prepared& prepared) {
  if (!prepared.official_network) return "this is no official problem";
  return is_official(prepared.images) ? "" : "the images are not the official ones";
}

ComparedRun compare_with_dead(const Prepared& prepared, const po::variables_map& values, RunOptions options,
                              const Outcome& outcome) {
  const Plan plan = make_plan(prepared.given->network, parse_passes("dead"));
  const Variant& variant = *choose(values, plan, prepared.images, options.engine).variant;
  options.engine.precision = precision_for(variant, values);
  const RunResult result = run(variant, plan, prepared.images, options);
  return {std::string(variant.name), plan.passes, spread(result.infer_seconds),
          result.outcome.categories == outcome.categories};
}

/// What fp16 storage changes: its categories against those of the same run in fp32.
Verdict compare_with_fp32(const Prepared& prepared, const Variant& variant, RunOptions options,
                          const Outcome& outcome) {
  options.engine.precision = Precision::fp32;
  options.trials = 1;
  return judge(outcome.categories, run(variant, prepared.plan, prepared.images, options).outcome.categories, "fp32");
}

void describe(const Plan& plan, const ImageSet& images, const EngineChoice& choice, const RunOptions& options,
              Report& report) {
  report.neurons = plan.provenance.given_neurons;
  report.bias = bias_text(plan);
  report.cap = plan.cap;
  report.images = images.images();
  report.edges = plan.provenance.given_edges;
  report.variant = choice.variant->name;
  report.why = choice.why;
  report.device = choice.variant->device;
  report.notes = plan.provenance.notes;
  report.precision = options.engine.precision;
  report.trials = options.trials;
  report.threads = host_threads(options.engine.threads);
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

ExitCode exit_code(const Report& report) {
  const bool right =
      report.verdict.status != Verdict::Status::failed && (!report.compared || report.compared->same_categories);
  return right ? ExitCode::done : ExitCode::wrong_categories;
}

}  // namespace

int infer(const Arguments& arguments) {
  const Stopwatch process;
  Report report;
  report.seconds.load = process_cpu_seconds();
  po::variables_map values;
  if (!parse(arguments, "spdnn infer (--network PATH | --generate official) (--inputs PATH | --mnist IDX) [options]",
             infer_options(), {}, values))
    return 0;
  const Passes passes = parse_passes(values["reduce"].as<std::string>());
  RunOptions options = run_options(values);
  require_threads(options.engine.threads);
  ResultFiles files(values);
  DeviceStart start = begin_start(values);
  const Truth truth = read_truth(text_of(values, "truth"), text_of(values, "verify"));

  const Prepared prepared = prepare(values, passes, start, report.seconds);
  start.wait();
  report.seconds.start = start.seconds();
  const Plan& plan = prepared.plan;
  const ImageSet& images = prepared.images;
  const EngineChoice choice = choose(values, plan, images, options.engine);
  options.engine.precision = precision_for(*choice.variant, values);
  describe(plan, images, choice, options, report);
  if (prepared.plan_was_stored) report.notes.emplace_back("the plan was stored with the network");
  if (prepared.planned_on_cuda) report.notes.emplace_back(kPlannedOnCuda);
  report.notes.insert(report.notes.end(), prepared.reader_notes.begin(), prepared.reader_notes.end());
  take_over(run(*choice.variant, plan, images, options), report);

  const Stopwatch writing;
  files.write_categories(report.outcome.categories);
  report.seconds.write = writing.seconds();
  report.seconds.total = report.seconds.load + process.seconds();

  report.empty_images = images.empty_images();
  const Network* const network = prepared.given ? &prepared.given->network : nullptr;
  report.verdict = verify(truth, {plan, network, images, why_unofficial(prepared)}, report.outcome.categories);
  if (!report.outcome.overflow.empty()) report.verdict = doubted(report.verdict);
  if (values.count("compare") != 0) report.compared = compare_with_dead(prepared, values, options, report.outcome);
  if (report.precision == Precision::fp16)
    report.against_fp32 = compare_with_fp32(prepared, *choice.variant, options, report.outcome);
  files.finish(report);
  return static_cast<int>(exit_code(report));
}

}  // namespace spdnn::cli
