#include "inference/model/run.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "core/system/stopwatch.hpp"
#include "core/types/progress.hpp"
#include "inference/model/resident_model.hpp"
#include "inference/run/load.hpp"

namespace spdnn {

namespace {

class ModelRunner {
 public:
  ModelRunner(const ModelVariant& variant, const std::shared_ptr<const Model>& model, const Tensor& images,
              const ModelRunOptions& options)
      : model_(*model), images_(images), options_(options) {
    const Shape& shape = model_.values[model_.outputs.front()].shape;
    result_.output.shape = shape;
    result_.output.shape[0] = images.shape[0];
    const std::size_t size = elements(result_.output.shape).value_or(0);
    each_ = size / static_cast<std::size_t>(images.shape[0]);
    check_memory_for("images", images.shape[0], each_ * sizeof(float));
    output_ = allocate<float>(size);
    result_.infer_seconds.assign(static_cast<std::size_t>(options.trials), 0.0);
    const Stopwatch upload;
    resident_.emplace(variant, model, options.engine);
    result_.upload_seconds = upload.seconds();
  }

  ModelRunResult run() {
    const auto images = static_cast<Index>(images_.shape[0]);
    const Index batch = options_.engine.batch;
    const Offset rounds = (images - 1) / batch + 1;
    Progress progress(options_.progress, "infer",
                      rounds * static_cast<Offset>(options_.warm_up + options_.trials) * model_.nodes.size());
    for (Index first = 0; first < images; first += std::min(batch, images - first))
      run_batch(first, std::min(batch, images - first), progress);
    for (double& seconds : result_.node_seconds) seconds /= options_.trials;
    result_.output.values = Array<float>(output_, each_ * images);
    return std::move(result_);
  }

 private:
  void run_batch(Index first, Index count, Progress& progress) {
    Stopwatch watch;
    resident_->load(images_from(images_, first, count));
    result_.upload_seconds += watch.lap();
    for (int trial = 0; trial < options_.warm_up; ++trial) run_trial(progress);
    if (options_.warm_up > 0) result_.warm_up_seconds += watch.lap();
    float* const to = output_.get() + first * each_;
    const std::size_t bytes = count * each_ * sizeof(float);
    for (std::size_t trial = 0; trial < result_.infer_seconds.size(); ++trial) {
      watch.lap();
      const Tensor output = run_trial(progress);
      result_.infer_seconds[trial] += watch.lap();
      if (trial == 0)
        std::memcpy(to, output.values.data(), bytes);
      else if (std::memcmp(to, output.values.data(), bytes) != 0)
        ++result_.differing_trials;
      result_.gather_seconds += watch.lap();
      add_node_seconds();
    }
    result_.overflow = first_node(result_.overflow, resident_->overflow());
  }

  Tensor run_trial(Progress& progress) {
    return resident_->run([&](Index nodes) { progress.update(done_ += nodes); }).front();
  }

  void add_node_seconds() {
    const std::vector<double> seconds = resident_->node_seconds();
    result_.node_seconds.resize(seconds.size());
    std::transform(seconds.begin(), seconds.end(), result_.node_seconds.begin(), result_.node_seconds.begin(),
                   std::plus<>());
  }

  const Model& model_;
  const Tensor& images_;
  const ModelRunOptions& options_;
  std::optional<ResidentModel> resident_;
  std::shared_ptr<float[]> output_;
  std::size_t each_ = 0;  ///< elements of an image's output
  Offset done_ = 0;       ///< nodes, over batches and trials
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
  return ModelRunner(variant, model, images, options).run();
}

}  // namespace spdnn
