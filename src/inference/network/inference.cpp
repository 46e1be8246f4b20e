// Reads, plans and runs; the work of each step is in the files beside this one.

#include "spdnn/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/together.hpp"
#include "inference/network/memory_estimate.hpp"
#include "inference/network/run_report.hpp"
#include "inference/network/steps.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "inference/run/activations.hpp"
#include "io/files/output_target.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

RunOptions run_options(const InferenceSpec& spec, int cuda_device, Precision precision, std::size_t host_memory) {
  RunOptions options;
  options.engine = {
      .precision = precision, .threads = spec.threads, .device = cuda_device, .device_memory = spec.device_memory};
  options.engine.host_memory = host_memory;
  options.engine.cancelled = spec.cancelled;
  options.trials = spec.trials;
  options.warm_up = spec.warm_up;
  options.batch = spec.batch;
  options.share_devices = spec.share_devices;
  options.progress = spec.progress;
  return options;
}

/// Refuses inconsistent settings and missing resources before a device is started.
InferenceSpec checked_spec(InferenceSpec spec, bool is_root) {
  if (!spec.checkpoint.empty() && spec.trials != 1)
    throw UsageError("checkpoint", "a run that may be stopped has one trial");
  if (!spec.checkpoint.empty() && spec.warm_up != 0)
    throw UsageError("checkpoint", "a run that may be stopped has no trials to warm up");
  if (!spec.checkpoint.empty() && spec.deal == Deal::counter)
    throw UsageError("deal", "a run with a checkpoint has fixed shares; expected fixed or auto");
  if (spec.max_time && spec.checkpoint.empty()) throw UsageError("max_time", "needs a checkpoint to stop at");
  if (spec.max_time && !(*spec.max_time >= 0))
    throw UsageError("max_time", fmt::format("{}, expected at least 0 seconds", *spec.max_time));
  if (spec.checkpoint_every && !(*spec.checkpoint_every > 0))
    throw UsageError("checkpoint_every", fmt::format("{}, expected seconds above 0", *spec.checkpoint_every));
  check_settings(spec);
  if (spec.activations && !spec.checkpoint.empty())
    throw UsageError("activations", "a run that may be stopped does not keep them");
  if (spec.activations) require_exact_activations(spec.passes);
  if (is_root && !spec.checkpoint.empty()) find_output_file(spec.checkpoint);
  return spec;
}

/// Whether CUDA may plan or run.
bool needs_cuda(const InferenceSpec& spec) {
  return may_choose_cuda(engine_request(spec), variants()) || spec.plan_device == Device::cuda;
}

}  // namespace

Inference::Steps::Steps(const InferenceSpec& spec, std::unique_ptr<Communicator> own, Communicator* ranks)
    : InferenceSteps(checked_spec(spec, ranks == nullptr || ranks->is_root()), std::move(own), ranks,
                     needs_cuda(spec)) {}

void Inference::Steps::plan() {
  if (!begin_plan()) return;
  if (ranks_.is_root() && !plan_is_there_) make();
  stage_ = Stage::planned;
}

void Inference::Steps::run() {
  begin_run();
  if (ranks_.is_root()) prepare();
  const Stopwatch watch;
  order_ = share_orders(ranks_, {order_}).front();
  plan_ = share_plan(ranks_, std::move(plan_), spec_.network);
  report_.seconds.share = ranks_.is_alone() ? 0 : watch.seconds();
  if (spec_.checkpoint.empty())
    run_at_once();
  else
    run_in_parts();
  stage_ = Stage::run;
}

void Inference::Steps::verify() {
  require(stage_ == Stage::run, "verify() comes after run()");
  judge_by_truth();
  if (!spec_.compare && !below_fp32(order_.precision)) return;
  const std::vector<Work> mine{images_.work(ranks_)};
  if (spec_.compare) compare_with_dead(mine);
  if (below_fp32(order_.precision)) compare_with_fp32(mine);
}

bool Inference::Steps::streams_all() const {
  if (!stream_ || spec_.compare) return false;
  if (plan_is_there_) return true;
  return may_plan_while_reading(spec_.passes) &&
         !finds_on_device(spec_.plan_device, stream_->network.edges(), spec_.passes, start_);
}

int Inference::Steps::sharers() const { return spec_.host_memory == 0 ? ranks_.place().node_ranks : 1; }

Plan Inference::Steps::plan_given(const Passes& passes) const {
  if (network_) return make_plan(*network_, passes);
  const std::size_t budget = host_budget(spec_.host_memory);
  const std::size_t held = spec_.host_memory == 0 ? 0 : images_.mine().bytes();
  return plan_stream(*stream_, passes, budget - std::min(budget, held), sharers(), spec_.progress);
}

void Inference::Steps::plan_as_read() {
  const Stopwatch watch;
  try {
    plan_ = plan_given(spec_.passes);
  } catch (const DataError&) {
    if (!stream_->text) throw;
    // If the directory was replaced meanwhile, reading it as a whole begins again; other errors come again.
    stream_.reset();
    read_whole_network(host_budget(spec_.host_memory));
    report_.seconds.read += watch.seconds();
    return;
  }
  note(stream_->notes);
  official_network_ = stream_->is_official();
  report_.seconds.read += plan_.provenance.read_seconds;
  report_.seconds.plan = watch.seconds() - plan_.provenance.read_seconds;
}

void Inference::Steps::make() {
  if (!network_) plan_as_read();
  if (!network_) return;
  const Stopwatch watch;
  const planning::TwinFinder find_twins = finder_for(spec_.plan_device, *network_, spec_.passes, start_);
  planned_on_cuda_ = spec_.passes.twins && find_twins != nullptr;
  plan_ = make_plan(*network_, spec_.passes, find_twins);
  if (!spec_.compare && (stream_ || !needs_network())) network_.reset();
  report_.seconds.plan = watch.seconds() - start_.seconds().waited;
}

bool Inference::Steps::needs_network() const {
  return spec_.compare || spec_.truth.sample > 0 || spec_.truth.everything;
}

RunOptions Inference::Steps::options(Precision precision, const Plan& plan, std::size_t image_bytes) const {
  return run_options(spec_, start_.device(), precision,
                     host_memory_for_engine(spec_.host_memory, plan, image_bytes, sharers()));
}

std::uint64_t Inference::Steps::bytes_read() const { return plan_.streamed ? plan_.streamed->stream->bytes_read() : 0; }

void Inference::Steps::report_streaming(std::uint64_t read_before) {
  if (!plan_.streamed) return;
  const std::vector<std::uint64_t> bytes = gather(ranks_, bytes_read() - read_before);
  report_.streamed = {plan_.streamed->at_once, std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0})};
}

EngineRequest Inference::Steps::request() const {
  EngineRequest request = engine_request(spec_);
  request.cuda_device = start_.device();
  request.network = spec_.network.path;
  return request;
}

EngineChoice Inference::Steps::choose(const Plan& plan) const {
  return choose_engine(request(), plan, images_.facts(), options(Precision::fp32, plan, images_.mine().bytes()).engine);
}

void Inference::Steps::prepare() {
  const EngineChoice choice = choose(plan_);
  order_ = order_for(*choice.variant, choice.precision, plan_, images_.facts());
  check_second_runs(choice);
  describe(plan_, images_.facts().images, choice, spec_, report_);
  if (plan_was_stored_) report_.notes.emplace_back("the plan was stored with the network");
  begin_monitoring();
  if (planned_on_cuda_) report_.notes.emplace_back(kPlannedOnCuda);
  report_.notes.insert(report_.notes.end(), reader_notes_.begin(), reader_notes_.end());
}

RankedResult Inference::Steps::run_work(const std::vector<RunOrder>& orders, const std::vector<Work>& mine,
                                        const Keeping* keeping) {
  RunOptions how = options(order_.precision, plan_, image_bytes(mine));
  how.monitor = monitor_.get();
  how.keep_activations = spec_.activations;
  return run_on_ranks(ranks_, orders, plan_, mine, how, keeping);
}

void Inference::Steps::run_at_once() {
  const std::uint64_t read_before = bytes_read();
  RankedResult result = run_work({order_}, {shared_work()});
  report_streaming(read_before);
  if (ranks_.is_root()) conclude(std::move(result));
}

std::string Inference::Steps::why_fixed() const {
  if (spec_.deal != Deal::automatic) return {};
  if (find_variant(order_.variant).device != Device::cpu) return "engines on CUDA devices run large batches";
  if (plan_.passes.identical) return "the pass identical leaves little work that could move";
  return plan_.streamed ? "layers that are streamed would be read again for each batch" : "";
}

void Inference::Steps::note_fixed(const std::string& why) {
  report_.notes.push_back("the ranks' shares are fixed: " + why);
}

Work Inference::Steps::shared_work() {
  const bool one_to_a_node = ranks_.all(ranks_.place().node_ranks == 1, Communicator::Group::job);
  if (spec_.deal == Deal::fixed || one_to_a_node) return images_.work(ranks_);
  const Stopwatch watch;
  std::string why = why_fixed();
  if (why.empty()) why = images_.share_on_nodes(ranks_);
  if (!why.empty() && spec_.deal == Deal::counter)
    throw RanksFailed(ranks_.is_root() ? std::make_exception_ptr(DeviceError("deal", why)) : nullptr);
  if (!why.empty()) note_fixed(why);
  report_.seconds.share += watch.seconds();
  return images_.work(ranks_);
}

void Inference::Steps::conclude(RankedResult result) {
  const Plan& ran = *result.result.plan;
  std::optional<CsrMatrix>& activations = result.result.outcome.activations;
  if (activations) activations = given_activations(*activations, ran);
  record_run(std::move(result), report_);
  record_end();
  report_.empty_images = images_.empty();
  report_.computed_edges = computed_edges(ran, report_.outcome, images_.facts().images - report_.empty_images);
  report_.verdict = unverified(report_.outcome.categories, "verification was not requested");
}

Inference::Inference(const InferenceSpec& spec) : steps_(std::make_unique<Steps>(spec, alone(), nullptr)) {}
Inference::Inference(std::unique_ptr<Steps> steps) : steps_(std::move(steps)) {}
Inference::~Inference() = default;

void Inference::load() { steps_->load(); }
void Inference::load(Network network, ImageSet images) { steps_->load(std::move(network), std::move(images)); }
void Inference::load(const PlannedNetwork& network, ImageSet images) { steps_->load(network, std::move(images)); }
void Inference::plan() { steps_->plan(); }
void Inference::run() { steps_->run(); }
void Inference::verify() { steps_->verify(); }
const Report& Inference::report() const { return steps_->report(); }

InferenceOnRanks::InferenceOnRanks(const InferenceSpec& spec, Communicator& ranks)
    : Inference(std::make_unique<Steps>(spec, nullptr, &ranks)) {}

}  // namespace spdnn
