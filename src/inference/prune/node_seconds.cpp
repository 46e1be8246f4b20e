#include "inference/prune/node_seconds.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string>

#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"
#include "data/model_families.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/run.hpp"
#include "inference/model/runnable.hpp"
#include "model/rewrites/rewrite.hpp"

namespace spdnn {

namespace {

constexpr int kLeastRuns = 5;
constexpr int kMostRuns = 50;
constexpr double kEnoughSeconds = 2;

/// The model after all rewrites, which keep the names of nodes: each name is the number of a given node.
std::shared_ptr<const Model> numbered(Model model) {
  model.program.reset();
  for (std::size_t n = 0; n < model.nodes.size(); ++n) model.nodes[n].name = std::to_string(n);
  rewrite(model, kAllRewrites);
  return std::make_shared<const Model>(std::move(model));
}

/// A model and the engine that `infer` would choose.
class PlannedModel {
 public:
  PlannedModel(const Model& given, const EngineSettings& settings)
      : model_(numbered(given)),
        nodes_(given.nodes.size()),
        options_{.batch = fixed_batch(*model_).value_or(std::max<Index>(settings.batch, 1)),
                 .threads = host_threads(settings.threads),
                 .host_memory = settings.host_memory},
        known_(*model_),
        choice_(choose_model_engine(settings, known_, options_)) {
    options_.precision = choice_.precision;
  }

  std::vector<double> predicted() {
    std::vector<double> seconds(nodes_);
    for (const ProgramStep& step : known_.of(*choice_.variant, options_).program)
      if (const std::size_t node = given(step.node); node < nodes_) seconds[node] += step.seconds;
    return seconds;
  }

  /// Makes an engine whose nodes are timed, and loads generated images.
  std::unique_ptr<ModelEngine> timed_engine() const {
    ModelEngineOptions options = options_;
    options.profile = true;
    std::unique_ptr<ModelEngine> engine = make_engine(*choice_.variant, model_, options);
    Shape shape = model_->values[model_->inputs.front()].shape;
    shape[0] = static_cast<Extent>(options_.batch);
    engine->load(generate_tensor(shape, 1));
    return engine;
  }

  /// A run's times, by given node.
  std::vector<double> timed(ModelEngine& engine) const {
    engine.reset();
    const auto end = static_cast<Index>(model_->nodes.size());
    for (Index next = 0; next < end;) next = engine.advance(next, end);
    const std::vector<double> of_run = engine.node_seconds();
    std::vector<double> seconds(nodes_);
    for (std::size_t n = 0; n < of_run.size(); ++n)
      if (const std::size_t node = given(n); node < nodes_) seconds[node] += of_run[n];
    return seconds;
  }

 private:
  /// `nodes_` for a node that a rewrite has made.
  std::size_t given(std::size_t n) const {
    const std::string& name = model_->nodes[n].name;
    std::size_t node = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), node);
    return error == std::errc{} && end == name.data() + name.size() ? node : nodes_;
  }

  std::shared_ptr<const Model> model_;
  std::size_t nodes_;
  ModelEngineOptions options_;
  KnownSupport known_;
  ModelEngineChoice choice_;
};

/// The shortest times so far of a model's nodes.
class ShortestTimes {
 public:
  ShortestTimes(const Model& given, const EngineSettings& settings)
      : planned_(given, settings),
        engine_(planned_.timed_engine()),
        seconds_(given.nodes.size(), std::numeric_limits<double>::infinity()) {
    planned_.timed(*engine_);  // the first run is longer
  }

  void run() {
    const std::vector<double> found = planned_.timed(*engine_);
    for (std::size_t n = 0; n < found.size(); ++n) seconds_[n] = std::min(seconds_[n], found[n]);
  }
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  PlannedModel planned_;
  std::unique_ptr<ModelEngine> engine_;
  std::vector<double> seconds_;
};

}  // namespace

std::vector<double> predicted_seconds(const Model& model, const EngineSettings& settings) {
  return PlannedModel(model, settings).predicted();
}

MeasuredSeconds measured_seconds(const Model& before, const Model& after, const EngineSettings& settings) {
  if (!why_not_runnable(before).empty()) return {};
  ShortestTimes dense(before, settings);
  ShortestTimes sparse(after, settings);
  const Stopwatch watch;
  MeasuredSeconds measured;
  while (measured.runs < kLeastRuns || (measured.runs < kMostRuns && watch.seconds() < kEnoughSeconds)) {
    dense.run();
    sparse.run();
    ++measured.runs;
  }
  measured.before = dense.seconds();
  measured.after = sparse.seconds();
  return measured;
}

}  // namespace spdnn
