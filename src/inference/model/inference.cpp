// Reads, rewrites, runs and verifies a model; the work of each step is in the files beside this one.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/system/stopwatch.hpp"
#include "engines/devices.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/load.hpp"
#include "inference/model/on_ranks.hpp"
#include "inference/model/run.hpp"
#include "inference/model/run_report.hpp"
#include "inference/model/runnable.hpp"
#include "inference/model/verify.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "inference/ranks/inference_steps.hpp"
#include "io/arrays/class_names.hpp"
#include "io/arrays/image_tensor.hpp"
#include "io/arrays/labels.hpp"
#include "model/graph/node_work.hpp"
#include "model/graph/quantised.hpp"
#include "model/rewrites/rewrite.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model_inference.hpp"

namespace spdnn {

namespace {

ModelSpec checked_model(ModelSpec spec) {
  const ModelTruth& truth = spec.truth;
  if (truth.min_accuracy && !truth.has_labels()) throw UsageError("min_accuracy", "needs labels");
  if (truth.min_accuracy && !(*truth.min_accuracy > 0 && *truth.min_accuracy <= 1))
    throw UsageError("min_accuracy", fmt::format("{}, expected more than 0, which any labels reach, and at most 1",
                                                 *truth.min_accuracy));
  check_settings(spec);
  return spec;
}

void check_runnable(const std::string& path, const Model& model) {
  if (const std::string why_not = why_not_runnable(model); !why_not.empty()) throw DataError(path + ": " + why_not);
}

}  // namespace

class ModelInference::Steps : public InferenceSteps<ModelSpec, ModelReport> {
 public:
  Steps(const ModelSpec& spec, std::unique_ptr<Communicator> own, Communicator* ranks)
      : InferenceSteps(checked_model(spec), std::move(own), ranks,
                       may_choose_cuda(engine_request(spec), model_variants())) {}

  void load() {
    begin_load();
    if (!ranks_.is_root()) return void(stage_ = Stage::loaded);
    const Stopwatch watch;
    Model model = read_model(spec_.path, spec_.shape);
    check_runnable(spec_.path, model);
    choose_outputs(model, spec_.outputs, report_.notes);
    LoadedImages loaded = load_model_images(spec_.inputs, model);
    report_.image_files = std::move(loaded.files);
    std::move(loaded.notes.begin(), loaded.notes.end(), std::back_inserter(report_.notes));
    take(std::move(model), std::move(loaded.images), loaded.available);
    report_.seconds.read = watch.seconds();
  }

  void load(Model model, const Tensor& images) {
    begin_load();
    const Stopwatch watch;
    model.validate();
    check_runnable(spec_.path.empty() ? "model" : spec_.path, model);
    choose_outputs(model, spec_.outputs, report_.notes);
    ImageTensor taken = image_tensor("images", images, model.values[model.inputs.front()].shape);
    take(std::move(model), std::move(taken.tensor), taken.available);
    report_.seconds.read = watch.seconds();
  }

  void plan() {
    if (!begin_plan()) return;
    if (!ranks_.is_root()) return void(stage_ = Stage::planned);
    const Stopwatch watch;
    Model model = *given_;
    if (auto note = note_on_forms(model)) report_.notes.push_back(std::move(*note));
    if (auto note = note_on_quantised(model)) report_.notes.push_back(std::move(*note));
    for (std::string& note : rewrite(model, spec_.rewrites)) report_.notes.push_back(std::move(note));
    report_.rewrites = spec_.rewrites;
    describe_run(model, report_);
    run_ = std::make_shared<const Model>(std::move(model));
    report_.seconds.plan = watch.seconds();
    stage_ = Stage::planned;
  }

  void run() {
    begin_run();
    if (ranks_.is_root()) prepare();
    const Stopwatch watch;
    order_ = share_order(ranks_, order_);
    run_ = share_model(ranks_, run_);
    mine_ = scatter_images(ranks_, images_, fixed_batch(*run_).value_or(1));
    if (!ranks_.is_alone()) report_.seconds.share = watch.seconds();
    RankedModelResult result = run_on_ranks(spec_, order_, run_, monitor_.get());
    if (ranks_.is_root()) conclude(std::move(result));
    stage_ = Stage::run;
  }

  void verify() {
    require(stage_ == Stage::run, "verify() comes after run()");
    if (ranks_.is_root()) judge();
    if (spec_.compare) compare_without_rewrites();
    if (below_fp32(order_.precision)) compare_with_fp32();
  }

 private:
  /// The work of all ranks, and the report's facts about it.
  void prepare() {
    KnownSupport known(*run_);
    const Chosen chosen = chosen_for(spec_, known);
    if (below_fp32(chosen.order.precision) && (spec_.truth.has_expected() || recomputed() > 0))
      throw UsageError("precision", fmt::format("the bound of logits holds in fp32: a run in {} can be checked "
                                                "only against labels, and is compared with a run in fp32",
                                                to_string(chosen.order.precision)));
    describe_engine(chosen.engine, known, chosen.options, spec_, report_);
    order_ = chosen.order;
    if (spec_.compare) compared_order_ = order_for(without_rewrites(), *given_);
    begin_monitoring();
  }

  /// The engine for a model, and how it runs.
  struct Chosen {
    ModelEngineChoice engine;
    ModelEngineOptions options;
    ModelOrder order;
  };
  Chosen chosen_for(const ModelSpec& spec, KnownSupport& known) const {
    const Model& model = known.model();
    ModelEngineOptions options = options_to_choose(spec);
    options.batch = wanted_batch(spec, model, report_.images);
    const ModelEngineChoice engine = choose_model_engine(spec, known, options);
    options.precision = engine.precision;
    // No more than the rank with the most images has.
    options.batch = std::min(model_batch(spec, *engine.variant, known, report_.images, options),
                             most_images(report_.images, fixed_batch(model).value_or(1), ranks_.place().ranks));
    return {engine,
            options,
            {.variant = std::string(engine.variant->name),
             .precision = engine.precision,
             .images = report_.images,
             .batch = options.batch,
             .may_shrink = spec.batch == 0 && !fixed_batch(model)}};
  }

  ModelOrder order_for(const ModelSpec& spec, const Model& model) const {
    KnownSupport known(model);
    return chosen_for(spec, known).order;
  }

  RankedModelResult run_on_ranks(const ModelSpec& spec, const ModelOrder& order,
                                 const std::shared_ptr<const Model>& model, DeviceMonitor* monitor = nullptr) {
    ModelRunOptions options;
    options.engine = engine_options(spec);
    options.trials = spec.trials;
    options.warm_up = spec.warm_up;
    options.progress = spec_.progress;
    options.monitor = monitor;
    return run_model_on_ranks(ranks_, order, model, mine_, options, spec_.share_devices);
  }

  void judge() {
    if (!labels_.empty()) {
      report_.accuracy = accuracy_of(report_.logits(), labels_);
      report_.accuracy->at_least = spec_.truth.min_accuracy;
    }
    LogitTruth truth{.expected = expected_,
                     .expected_source = spec_.truth.expected.empty() ? "the outputs given" : spec_.truth.expected,
                     .recomputed = recomputed(),
                     .host_memory = spec_.host_memory};
    LogitChecks checks =
        check_logits(*given_, images_, report_.outputs, report_.classes, truth, spec_.progress, spec_.cancelled);
    report_.expected = std::move(checks.expected);
    report_.recomputed = std::move(checks.recomputed);
    // An engine of fp64 rounds nothing between nodes, so the inputs that it reports for a node are not quite those that
    // it used.
    if (recomputed() > 0 && report_.precision == Precision::fp32)
      report_.nodes_checked = check_nodes(find_model_variant(report_.variant), *run_, images_, recomputed(),
                                          report_.outputs, engine_options(spec_), spec_.progress);
    report_.verdict = verdict_of(report_);
  }

  void take(Model model, Tensor images, Index available) {
    given_ = std::make_shared<const Model>(std::move(model));
    images_ = std::move(images);
    report_.model = spec_.path;
    report_.images = static_cast<Index>(images_.shape[0]);
    report_.available = available;
    describe_given(*given_, report_);
    read_truth();
    stage_ = Stage::loaded;
  }

  void read_truth() {
    const ModelTruth& truth = spec_.truth;
    if (truth.has_labels()) {
      if (report_.classes == 0)
        throw UsageError("labels", fmt::format("the model's output is {}, which is not a list of classes",
                                               shape_text(report_.outputs.front().shape)));
      const Index count = spec_.inputs.images ? report_.available : report_.images;
      labels_ = truth.label_list ? check_labels("labels", *truth.label_list, count, report_.classes)
                                 : read_labels(truth.labels, count, report_.classes, &report_.notes);
      labels_.resize(report_.images);
    }
    if (truth.has_expected()) expected_ = load_expected(truth, *given_, report_.images, report_.notes);
    read_names();
  }

  void read_names() {
    if (spec_.names.empty()) return;
    if (report_.classes == 0)
      throw UsageError("names", fmt::format("the model's output is {}, which is not a list of classes",
                                            shape_text(report_.outputs.front().shape)));
    report_.class_names = read_class_names(spec_.names, report_.classes, &report_.notes);
  }

  Index recomputed() const {
    return spec_.truth.everything ? report_.images : std::min(spec_.truth.sample, report_.images);
  }

  /// The limit less model and images, at least a byte; 0 without a limit.
  std::size_t memory_for_engine() const {
    if (spec_.host_memory == 0) return 0;
    const Tensor& images = ranks_.is_root() ? images_ : mine_;
    const std::size_t held = bytes_of(ranks_.is_root() ? *given_ : *run_) + images.values.bytes();
    return spec_.host_memory > held ? spec_.host_memory - held : 1;
  }

  ModelEngineOptions engine_options(const ModelSpec& spec) const {
    ModelEngineOptions options{.threads = spec_.threads,
                               .device = start_.device(),
                               .host_memory = memory_for_engine(),
                               .epilogues = spec.rewrites.epilogues,
                               .compile_seconds = spec.compile_seconds,
                               .profile = spec.profile};
    options.cancelled = spec_.cancelled;
    return options;
  }

  /// For the choice of variant and batch: ranks of one node share its free memory.
  ModelEngineOptions options_to_choose(const ModelSpec& spec) const {
    ModelEngineOptions options = engine_options(spec);
    if (!ranks_.is_alone())
      options.host_memory =
          memory_budget(Device::cpu, {.host_memory = options.host_memory, .sharers = ranks_.place().node_ranks});
    return options;
  }

  void conclude(RankedModelResult all) {
    record_run(std::move(all), *run_, spec_, report_);
    record_end();
    report_.verdict = {Verdict::Status::unverified, "nothing: verification was not requested"};
  }

  ModelSpec without_rewrites() const {
    ModelSpec second = spec_;
    second.rewrites = {};
    second.profile = false;
    return second;
  }

  /// On all ranks, the model as given.
  void compare_without_rewrites() {
    const ModelOrder order = share_order(ranks_, compared_order_);
    const ModelRunResult result = run_on_ranks(without_rewrites(), order, share_model(ranks_, given_)).result;
    if (ranks_.is_root())
      report_.compared =
          ComparedModelRun{difference_from(report_, order.variant, result.outputs), spread(result.infer_seconds)};
  }

  /// On all ranks, by the same variant where it computes in fp32, too.
  void compare_with_fp32() {
    ModelOrder order;
    if (ranks_.is_root()) order = order_in_fp32();
    order = share_order(ranks_, order);
    const std::vector<Tensor> outputs = run_on_ranks(in_fp32(), order, run_).result.outputs;
    if (ranks_.is_root()) report_.against_fp32 = difference_from(report_, order.variant, outputs);
  }

  ModelSpec in_fp32() const {
    ModelSpec second = spec_;
    second.precision = Precision::fp32;
    second.trials = 1;
    second.warm_up = 0;
    second.profile = false;
    return second;
  }

  ModelOrder order_in_fp32() const {
    ModelSpec second = in_fp32();
    if (!computes_in(find_model_variant(report_.variant), Precision::fp32)) second.variant.clear();
    return order_for(second, *run_);
  }

  std::shared_ptr<const Model> run_;  ///< run by the engine; the root's until it is shared
  ModelOrder order_;
  Tensor mine_;  ///< this rank's images
  // On the root only:
  std::shared_ptr<const Model> given_;  ///< run by the reference
  Tensor images_;
  std::vector<Index> labels_;
  std::vector<Tensor> expected_;  ///< by output; empty: none given
  ModelOrder compared_order_;     ///< with `compare`
};

ModelInference::ModelInference(const ModelSpec& spec) : steps_(std::make_unique<Steps>(spec, alone(), nullptr)) {}
ModelInference::ModelInference(std::unique_ptr<Steps> steps) : steps_(std::move(steps)) {}
ModelInference::~ModelInference() = default;

void ModelInference::load() { steps_->load(); }
void ModelInference::load(Model model, const Tensor& images) { steps_->load(std::move(model), images); }
void ModelInference::plan() { steps_->plan(); }
void ModelInference::run() { steps_->run(); }
void ModelInference::verify() { steps_->verify(); }
const ModelReport& ModelInference::report() const { return steps_->report(); }

ModelInferenceOnRanks::ModelInferenceOnRanks(const ModelSpec& spec, Communicator& ranks)
    : ModelInference(std::make_unique<Steps>(spec, nullptr, &ranks)) {}

}  // namespace spdnn
