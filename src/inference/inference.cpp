// What one run does, from the specification to the report; the steps' own work is in the files beside this one.

#include "spdnn/inference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "cluster/communicator.hpp"
#include "cluster/exchange.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "engines/devices.hpp"
#include "inference/checkpoint.hpp"
#include "inference/device_monitor.hpp"
#include "inference/device_start.hpp"
#include "inference/engine_choice.hpp"
#include "inference/load.hpp"
#include "inference/planned_network.hpp"
#include "inference/run.hpp"
#include "inference/run_on_ranks.hpp"
#include "inference/run_report.hpp"
#include "inference/streaming.hpp"
#include "inference/verify.hpp"
#include "io/path_kind.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// On one of the visible CUDA devices.
EngineRequest engine_request(const InferenceSpec& spec, int cuda_device = 0) {
  return {spec.variant, spec.device, spec.precision, cuda_device};
}

RunOptions run_options(const InferenceSpec& spec, int cuda_device, Precision precision, std::size_t host_memory) {
  RunOptions options;
  options.engine = {
      .precision = precision, .threads = spec.threads, .device = cuda_device, .device_memory = spec.device_memory};
  options.engine.host_memory = host_memory;
  options.engine.cancelled = spec.cancelled;
  options.trials = spec.trials;
  options.warm_up = spec.warm_up;
  options.batch = spec.batch;
  options.progress = spec.progress;
  return options;
}

/// Refuses at once, before a device is started up, what does not fit together and what this machine does not give.
InferenceSpec checked(InferenceSpec spec) {
  if (!spec.checkpoint.empty() && spec.trials != 1)
    throw UsageError("checkpoint", "a run that may be stopped has one trial");
  if (!spec.checkpoint.empty() && spec.warm_up != 0)
    throw UsageError("checkpoint", "a run that may be stopped has no trials to warm up");
  require_threads(spec.threads);
  return spec;
}

void require(bool before, const char* what) {
  if (!before) throw std::logic_error(fmt::format("Inference: {}", what));
}

}  // namespace

class Inference::Steps {
 public:
  Steps(InferenceSpec spec, std::unique_ptr<Communicator> own, Communicator* ranks)
      : own_(std::move(own)),
        ranks_(ranks != nullptr ? *ranks : *own_),
        spec_(checked(std::move(spec))),
        start_(may_choose_cuda(engine_request(spec_)) || spec_.plan_device == Device::cuda,
               [place = ranks_.place(), given = spec_.cuda_device] {
                 return place.ranks == 1 ? given : device_of_rank(place);
               }) {
    if (!ranks_.is_root()) spec_.progress = {};
  }

  void load() {
    require(stage_ == Stage::begun, "load() is called once");
    if (ranks_.is_root()) {
      settle_passes();
      read();
    }
    stage_ = Stage::loaded;
  }

  void load(Network network, ImageSet images) {
    require(stage_ == Stage::begun, "load() is called once");
    const Stopwatch watch;
    network.validate();
    settle_passes();
    official_network_ = is_official(network);
    network_ = std::move(network);
    take_images(std::move(images), network_->inputs());
    report_.seconds.read = watch.seconds();
  }

  void load(const PlannedNetwork& planned, ImageSet images) {
    require(stage_ == Stage::begun, "load() is called once");
    const Stopwatch watch;
    const PlannedNetwork::Contents& contents = *planned.contents_;
    plan_ = contents.plan;
    plan_is_there_ = true;
    planned_on_cuda_ = contents.planned_on_cuda;
    official_network_ = contents.official;
    network_ = contents.network;
    take_images(std::move(images), network_->inputs());
    report_.seconds.read = watch.seconds();
  }

  void plan() {
    if (stage_ >= Stage::planned) return;
    require(stage_ == Stage::loaded, "plan() comes after load()");
    if (ranks_.is_root() && !plan_is_there_) make();
    stage_ = Stage::planned;
  }

  void run() {
    require(stage_ >= Stage::planned, "run() comes after plan()");
    start_.wait();
    report_.seconds.start = start_.seconds();
    if (ranks_.is_root()) prepare();
    const Stopwatch watch;
    order_ = share_order(ranks_, order_);
    plan_ = share_plan(ranks_, std::move(plan_), spec_.network);
    report_.seconds.share = ranks_.is_alone() ? 0 : watch.seconds();
    if (spec_.checkpoint.empty())
      run_at_once();
    else
      run_in_parts();
    stage_ = Stage::run;
  }

  void verify() {
    require(stage_ == Stage::run, "verify() comes after run()");
    if (ranks_.is_root()) judge_by_truth();
    if (!spec_.compare && order_.precision != Precision::fp16) return;
    const ImageSet mine = scatter_images(ranks_, images_);
    if (spec_.compare) compare_with_dead(mine);
    if (order_.precision == Precision::fp16) compare_with_fp32(mine);
  }

  const Report& report() const { return report_; }

 private:
  enum class Stage { begun, loaded, planned, run };

  /// Of a network in memory, which is there already.
  void take_images(ImageSet images, Index inputs) {
    images.validate();
    if (images.neurons() != inputs)
      throw std::invalid_argument(
          fmt::format("the images have {} neurons, but the network has {} inputs", images.neurons(), inputs));
    truth_ = read_truth(spec_.truth);
    images_ = std::move(images);
    stage_ = Stage::loaded;
  }

  /// The network is needed in memory only where there is no stored plan to run, or something else has to be run too.
  /// Images are read before the plan is made, while the device starts.
  void read() {
    truth_ = read_truth(spec_.truth);
    Stopwatch watch;
    const std::size_t budget = host_budget(spec_.host_memory);
    StoredPlan stored = stored_plan(spec_.network, spec_.passes, budget / 4 * 3);
    note(stored.notes);
    if (stored.plan) {
      plan_ = std::move(*stored.plan);
      plan_is_there_ = plan_was_stored_ = true;
      official_network_ = claims_official(plan_);
      report_.seconds.plan = watch.lap();
    }
    if (needs_network() || !plan_is_there_) stream_ = stream_if_too_large(spec_.network, budget);
    if (stream_) {
      official_network_ = stream_->official;
    } else if (needs_network() || !plan_is_there_) {
      require_room_for_text(spec_.network, budget);
      GivenNetwork given = load_network(spec_.network, spec_.progress);
      if (plan_is_there_) check_stored_plan(spec_.network.path, plan_, given.network);
      official_network_ = given.official;
      note(given.notes);
      network_ = std::move(given.network);
      require_room(spec_.network, *network_, spec_.host_memory);
    }
    const Index neurons = stream_ ? stream_->network.inputs() : network_ ? network_->inputs() : plan_.inputs();
    images_ = load_images(spec_.images, neurons, spec_.progress);
    note(notes_on_empty_files(spec_.truth.path, spec_.images.path));
    report_.seconds.read = watch.lap();
  }

  /// On what was read, for the report.
  void note(const std::vector<std::string>& notes) {
    reader_notes_.insert(reader_notes_.end(), notes.begin(), notes.end());
  }

  bool continues() const { return !spec_.checkpoint.empty() && path_kind(spec_.checkpoint) != PathKind::missing; }

  /// A run that is continued goes on with the plan that it began with.
  void settle_passes() {
    if (!continues()) return;
    const Passes asked = std::exchange(spec_.passes, passes_to_continue(spec_.checkpoint, spec_.passes));
    if (spec_.passes != asked)
      note({fmt::format("the run goes on as it began, with the passes {}", to_string(spec_.passes))});
  }

  /// Processes that take memory for themselves where no limit of each is given.
  int sharers() const { return spec_.host_memory == 0 ? ranks_.place().node_ranks : 1; }

  /// The network as given, planned for some passes.
  Plan plan_given(const Passes& passes) const {
    if (!stream_) return make_plan(*network_, passes);
    const std::size_t budget = host_budget(spec_.host_memory);
    const std::size_t held = spec_.host_memory == 0 ? 0 : images_.bytes();
    return plan_stream(stream_->network, passes, budget - std::min(budget, held), sharers(), spec_.progress);
  }

  void make() {
    const Stopwatch watch;
    if (stream_) {
      plan_ = plan_given(spec_.passes);
      report_.seconds.plan = watch.seconds();
      return;
    }
    const planning::TwinFinder find_twins = finder_for(spec_.plan_device, *network_, spec_.passes, start_);
    planned_on_cuda_ = spec_.passes.twins && find_twins != nullptr;
    plan_ = make_plan(*network_, spec_.passes, find_twins);
    if (!needs_network()) network_.reset();
    report_.seconds.plan = watch.seconds() - start_.seconds().waited;
  }

  bool needs_network() const { return spec_.compare || spec_.truth.sample > 0 || spec_.truth.everything; }

  RunOptions options(Precision precision, const Plan& plan, const ImageSet& images) const {
    return run_options(spec_, start_.device(), precision,
                       host_memory_for_engine(spec_.host_memory, plan, images, sharers()));
  }

  /// By this rank.
  std::uint64_t bytes_read() const { return plan_.streamed ? plan_.streamed->stream->bytes_read() : 0; }

  void report_streaming(std::uint64_t read_before) {
    if (!plan_.streamed) return;
    const std::vector<std::uint64_t> bytes = gather(ranks_, bytes_read() - read_before);
    report_.streamed = {plan_.streamed->at_once, std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0})};
  }

  EngineChoice choose(const Plan& plan) const {
    const RunPlan run = plan_for(plan, images_, Precision::fp32);
    EngineOptions engine = options(Precision::fp32, plan, images_).engine;
    engine.may_overflow = run.may_overflow;
    return choose_engine(engine_request(spec_, engine.device), *run.plan, batch_info(images_), engine);
  }

  /// What all ranks are to do, and what the report says of it.
  void prepare() {
    const EngineChoice choice = choose(plan_);
    order_ = order_for(*choice.variant, choice.precision, plan_, images_);
    check_second_runs(choice);
    describe(plan_, images_, choice, spec_, report_);
    if (plan_was_stored_) report_.notes.emplace_back("the plan was stored with the network");
    if (spec_.device_state && report_.device == Device::cuda) watch_device();
    if (planned_on_cuda_) report_.notes.emplace_back(kPlannedOnCuda);
    report_.notes.insert(report_.notes.end(), reader_notes_.begin(), reader_notes_.end());
  }

  /// Where the driver tells nothing of the device, the report says nothing of it.
  /// Of several ranks, only one device is asked, whose energy is not that of the run.
  void watch_device() {
    const DeviceMonitor::Rates rates{.energy = ranks_.is_alone()};
    if (auto nvml = Nvml::open(device_names(Device::cuda, start_.device()).id))
      monitor_ = std::make_unique<DeviceMonitor>(std::move(nvml), rates);
  }

  /// Refuses before the first run what verify() could not run after it.
  void check_second_runs(const EngineChoice& choice) {
    if (spec_.compare) {
      dead_ = plan_given(parse_passes("dead"));
      const EngineChoice by = choose(dead_);
      check_run(*by.variant, dead_, images_, options(by.precision, dead_, images_));
      dead_order_ = order_for(*by.variant, by.precision, dead_, images_);
    }
    if (choice.precision == Precision::fp16)
      check_run(*choice.variant, plan_, images_, options(Precision::fp32, plan_, images_));
  }

  RankedResult run_piece(const RunOrder& order, const Plan& plan, const ImageSet& all) {
    const Stopwatch watch;
    const ImageSet mine = scatter_images(ranks_, all);
    if (!ranks_.is_alone()) report_.seconds.share += watch.seconds();
    RunOptions how = options(order.precision, plan, mine);
    if (!spec_.checkpoint.empty()) how.stop = spec_.stop;
    how.monitor = monitor_.get();
    return run_on_ranks(ranks_, order, plan, mine, how);
  }

  void run_at_once() {
    const std::uint64_t read_before = bytes_read();
    RankedResult result = run_piece(order_, plan_, images_);
    report_streaming(read_before);
    if (ranks_.is_root()) conclude(std::move(result));
  }

  /// From a checkpoint, or to one, or both.
  void run_in_parts() {
    const std::uint64_t read_before = bytes_read();
    RankedResult all;
    all.result.plan = order_.in_order ? plan_.fallback->in_order.get() : &plan_;
    Checkpoint state;
    std::vector<Work> work;
    if (ranks_.is_root()) {
      state = Checkpoint(plan_, order_.precision, images_);
      if (continues()) read_checkpoint(spec_.checkpoint, *all.result.plan, state);
      work = work_left(state, images_);
      state.left.clear();
    }
    const std::size_t pieces = broadcast(ranks_, work.size());
    for (std::size_t i = 0; i < pieces; ++i) {
      const Work piece = ranks_.is_root() ? std::move(work[i]) : Work{};
      const Index layer = broadcast(ranks_, piece.layer);
      const Plan rest = layer == 0 ? plan_ : plan_from(*all.result.plan, layer);  // of the plan that ran before
      const RunOrder order = share_order(ranks_, ranks_.is_root() ? order_of_piece(piece, rest) : RunOrder{});
      RankedResult result = run_piece(order, rest, piece.images);
      if (!ranks_.is_root()) continue;
      conclude_work(piece, result, plan_.depth(), state);
      state.variants.insert(order.variant);
      add_times(all, result);
    }
    report_streaming(read_before);
    if (!broadcast(ranks_, state.left.empty())) stop(std::move(state), std::move(all));
    if (!ranks_.is_root()) return;
    report_.parts = state.parts + 1;
    report_.earlier = state.seconds;
    state.variants.erase(report_.variant);
    if (!state.variants.empty())
      report_.notes.push_back(fmt::format("part of the run was computed by {}", fmt::join(state.variants, ", ")));
    all.result.outcome = std::move(state.known);
    conclude(std::move(all));
  }

  /// An engine that was asked for may be one that takes images, but not activations.
  RunOrder order_of_piece(const Work& piece, const Plan& rest) const {
    if (piece.layer == 0) return order_;
    const RunPlan run = plan_for(rest, piece.images, order_.precision);
    EngineOptions engine = options(order_.precision, rest, piece.images).engine;
    engine.may_overflow = run.may_overflow;
    EngineRequest request = engine_request(spec_, engine.device);
    if (!support_of(find_variant(order_.variant), *run.plan, batch_info(piece.images), engine).takes())
      request.variant.clear();
    const EngineChoice choice = choose_engine(request, *run.plan, batch_info(piece.images), engine);
    RunOrder order = order_for(*choice.variant, order_.precision, rest, piece.images);
    order.layer = piece.layer;
    return order;
  }

  [[noreturn]] void stop(Checkpoint state, RankedResult all) {
    std::string begun_again;
    if (ranks_.is_root()) {
      take_over(std::move(all), report_);
      report_.seconds.total = since_start_.seconds();
      state.seconds.add(report_.seconds);
      ++state.parts;
      join_pieces(state.left);
      begun_again = write_checkpoint(spec_.checkpoint, state);
    }
    ranks_.barrier();
    throw Stopped(fmt::format("stopped; the same command continues the run from {}{}", spec_.checkpoint,
                              begun_again.empty() ? "" : ", but begins some images again, for " + begun_again));
  }

  void conclude(RankedResult result) {
    const Plan& ran = *result.result.plan;
    take_over(std::move(result), report_);
    report_.seconds.total = since_start_.seconds();
    if (monitor_) report_.device_state = monitor_->state();
    report_.empty_images = images_.empty_images();
    report_.computed_edges = computed_edges(ran, report_.outcome, images_.images() - report_.empty_images);
    report_.verdict = unverified(report_.outcome.categories, "verifying was not asked for");
  }

  void judge_by_truth() {
    const Outcome& outcome = report_.outcome;
    report_.verdict = unverified(outcome.categories, "verifying did not finish");
    const auto given = [this](const Passes& passes) { return plan_given(passes); };
    report_.verdict = spdnn::verify(
        truth_, {plan_, given, images_, why_unofficial(), spec_.host_memory, spec_.cancelled}, outcome.categories);
    if (!outcome.overflow.empty()) report_.verdict = doubted(report_.verdict);
  }

  /// Whether network and images are the challenge's own, by the digests of what they hold; nothing, or why not. Where a
  /// stored plan runs, its file's digest stands for the network, which is not read unless it is verified.
  std::string why_unofficial() const {
    if (!official_network_) return "this is no official problem";
    return is_official(images_) ? "" : "the images are not the official ones";
  }

  void compare_with_dead(const ImageSet& mine) {
    dead_order_ = share_order(ranks_, dead_order_);
    dead_ = share_plan(ranks_, std::move(dead_), spec_.network);
    const RunResult result =
        run_on_ranks(ranks_, dead_order_, dead_, mine, options(dead_order_.precision, dead_, mine)).result;
    if (!ranks_.is_root()) return;
    const Verdict by_dead =
        judge(report_.outcome.categories, result.outcome.categories,
              fmt::format("--reduce {} by {}", to_string(result.plan->passes), dead_order_.variant));
    report_.compared = ComparedRun{dead_order_.variant, result.plan->passes, spread(result.infer_seconds),
                                   by_dead.status == Verdict::Status::passed};
    report_.verdict = contradicted(report_.verdict, by_dead);
  }

  /// What fp16 storage changes: its categories against those of the same run in fp32.
  void compare_with_fp32(const ImageSet& mine) {
    RunOrder order = order_;
    if (ranks_.is_root()) order = order_for(find_variant(order_.variant), Precision::fp32, plan_, images_);
    RunOptions once = options(Precision::fp32, plan_, mine);
    once.trials = 1;
    once.warm_up = 0;
    const RunResult in_fp32 = run_on_ranks(ranks_, share_order(ranks_, order), plan_, mine, once).result;
    if (ranks_.is_root()) report_.against_fp32 = judge(report_.outcome.categories, in_fp32.outcome.categories, "fp32");
  }

  const std::unique_ptr<Communicator> own_;  ///< of a process by itself
  Communicator& ranks_;
  InferenceSpec spec_;
  const Stopwatch since_start_;
  DeviceStart start_;
  Stage stage_ = Stage::begun;
  Plan plan_;  ///< the root's until it is shared
  RunOrder order_;
  // On the root only:
  Report report_;
  Truth truth_;
  std::optional<Network> network_;
  std::optional<GivenStream> stream_;  ///< in place of `network_`, where that does not fit into memory
  ImageSet images_;
  Plan dead_;  ///< with `compare`: what the second run runs
  RunOrder dead_order_;
  std::unique_ptr<DeviceMonitor> monitor_;
  std::vector<std::string> reader_notes_;
  bool official_network_ = false;  ///< by its digest, or that of the stored plan's file
  bool plan_is_there_ = false;     ///< before plan()
  bool plan_was_stored_ = false;   ///< with the network
  bool planned_on_cuda_ = false;
};

Inference::Inference(InferenceSpec spec) : steps_(std::make_unique<Steps>(std::move(spec), alone(), nullptr)) {}
Inference::Inference(InferenceSpec spec, Communicator& ranks)
    : steps_(std::make_unique<Steps>(std::move(spec), nullptr, &ranks)) {}
Inference::~Inference() = default;

void Inference::load() { steps_->load(); }
void Inference::load(Network network, ImageSet images) { steps_->load(std::move(network), std::move(images)); }
void Inference::load(const PlannedNetwork& network, ImageSet images) { steps_->load(network, std::move(images)); }
void Inference::plan() { steps_->plan(); }
void Inference::run() { steps_->run(); }
void Inference::verify() { steps_->verify(); }
const Report& Inference::report() const { return steps_->report(); }

}  // namespace spdnn
