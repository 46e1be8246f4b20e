#include "inference/model/run.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "core/threads/parallel.hpp"
#include "inference/run/load.hpp"

namespace spdnn {

namespace {

/// A model with the engine that runs it.
class RunnableModel final : public Runnable {
 public:
  RunnableModel(const ModelVariant& variant, const std::shared_ptr<const Model>& model, const Tensor& images,
                const ModelRunOptions& options)
      : variant_(variant), model_(model), images_(images), options_(options) {
    result_.output.shape = model_->values[model_->outputs.front()].shape;
    result_.output.shape[0] = images.shape[0];
    const std::size_t size = elements(result_.output.shape).value_or(0);
    each_ = size / static_cast<std::size_t>(images.shape[0]);
    check_memory_for("images", images.shape[0], each_ * sizeof(float));
    output_ = allocate<float>(size);
    result_.threads = host_threads(options.engine.threads);
    result_.batch = options.engine.batch;
  }

  ModelRunResult run() {
    const auto images = static_cast<Index>(images_.shape[0]);
    const LoopWork work{.images = images,
                        .steps = static_cast<Index>(model_->nodes.size()),
                        .device = variant_.device,
                        .ordinal = options_.engine.device,
                        .cancelled = options_.engine.cancelled};
    run_in_batches(*this, work, options_, result_);
    for (double& seconds : result_.node_seconds) seconds /= options_.trials;
    result_.output.values = Array<float>(output_, each_ * images);
    return std::move(result_);
  }

 private:
  void make(Index batch) override {
    engine_.reset();
    ModelEngineOptions options = options_.engine;
    options.batch = batch;
    engine_ = make_engine(variant_, model_, options);
  }
  void load(const ImageRange& images) override {
    batch_ = images;
    engine_->load(images_from(images_, images.first, images.count));
    node_seconds_.clear();
    differing_ = 0;
  }
  void reset() override { engine_->reset(); }
  Index advance(Index first, Index until) override { return engine_->advance(first, until); }
  void finish() override { found_ = engine_->output(); }
  void keep(int trial) override {
    float* const to = output_.get() + batch_.first * each_;
    if (trial == 0)
      std::memcpy(to, found_.values.data(), found_.values.bytes());
    else if (std::memcmp(to, found_.values.data(), found_.values.bytes()) != 0)
      ++differing_;
    add(engine_->node_seconds(), node_seconds_);
  }
  void gather(const ImageRange& /*images*/) override {
    result_.differing_trials += differing_;
    add(node_seconds_, result_.node_seconds);
    result_.overflow = first_node(result_.overflow, engine_->overflow());
  }

  static void add(const std::vector<double>& seconds, std::vector<double>& all) {
    all.resize(seconds.size());
    std::transform(seconds.begin(), seconds.end(), all.begin(), all.begin(), std::plus<>());
  }

  const ModelVariant& variant_;
  const std::shared_ptr<const Model>& model_;
  const Tensor& images_;
  const ModelRunOptions& options_;
  std::unique_ptr<ModelEngine> engine_;
  std::shared_ptr<float[]> output_;
  std::size_t each_ = 0;  ///< elements of an image's output
  ImageRange batch_;
  Tensor found_;                      ///< of the last trial
  std::vector<double> node_seconds_;  ///< of the batch's trials
  int differing_ = 0;                 ///< likewise
  ModelRunResult result_;
};

}  // namespace

std::optional<Index> first_node(std::optional<Index> a, std::optional<Index> b) {
  return a && b ? std::min(a, b) : a ? a : b;
}

Tensor images_from(const Tensor& images, Index first, Index count) {
  const std::size_t each = images.values.size() / static_cast<std::size_t>(images.shape[0]);
  Tensor some;
  some.shape = images.shape;
  some.shape[0] = count;
  const auto owner = std::make_shared<const Array<float>>(images.values);
  some.values = {std::shared_ptr<const float[]>(owner, owner->data() + first * each), count * each};
  return some;
}

std::optional<Index> fixed_batch(const Model& model) {
  const Shape& shape = model.values[model.inputs.front()].shape;
  if (shape.empty() || shape.front() == kBatchExtent) return std::nullopt;
  return static_cast<Index>(shape.front());
}

ModelRunResult run_model(const ModelVariant& variant, const std::shared_ptr<const Model>& model, const Tensor& images,
                         const ModelRunOptions& options) {
  return RunnableModel(variant, model, images, options).run();
}

}  // namespace spdnn
