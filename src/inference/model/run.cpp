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
      : variant_(variant),
        model_(model),
        images_(images),
        options_(options),
        engine_(options.kept != nullptr ? *options.kept : own_),
        stays_(engine_ != nullptr) {
    result_.threads = host_threads(options.engine.threads);
    result_.batch = options.engine.batch;
    if (result_.batch < image_count()) make_room();
  }

  ModelRunResult run() {
    const LoopWork work{.images = image_count(),
                        .steps = static_cast<Index>(model_->nodes.size()),
                        .device = variant_.device,
                        .ordinal = options_.engine.device,
                        .cancelled = options_.engine.cancelled};
    run_in_batches(*this, work, options_, result_);
    for (double& seconds : result_.node_seconds) seconds /= options_.trials;
    for (std::string& note : engine_->notes()) result_.notes.push_back(std::move(note));
    return std::move(result_);
  }

 private:
  Index image_count() const { return static_cast<Index>(images_.shape[0]); }

  /// For the outputs of several batches, one after another.
  void make_room() {
    for (const ValueId id : model_->outputs) {
      const Shape shape = output_of(*model_, id, image_count());
      const std::size_t size = elements(shape).value_or(0);
      check_memory_for("images", image_count(), size / image_count() * sizeof(float));
      rooms_.push_back(allocate<float>(size));
      result_.outputs.push_back({shape, Array<float>(rooms_.back(), size)});
    }
  }

  void make(Index batch) override {
    if (std::exchange(stays_, false)) return;
    engine_.reset();
    ModelEngineOptions options = options_.engine;
    options.batch = batch;
    engine_ = make_engine(variant_, model_, options);
  }
  void load(const ImageRange& images) override {
    const bool all = images.count == image_count();
    engine_->load(all ? images_ : images_from(images_, images.first, images.count));
    next_ = images.first + images.count;
    node_seconds_.clear();
    differing_ = 0;
  }
  void reset() override { engine_->reset(); }
  Index advance(Index first, Index until) override { return engine_->advance(first, until); }
  /// Before the first trial of a batch has ended, the images that probably follow are announced.
  void finish() override {
    if (const Index count = std::min(result_.batch, image_count() - next_); count > 0) {
      engine_->announce(images_from(images_, next_, count));
      next_ = image_count();
    }
    found_ = engine_->outputs();
  }
  void keep(int trial) override {
    if (trial == 0)
      first_ = std::move(found_);
    else if (!std::equal(first_.begin(), first_.end(), found_.begin(), same_bits))
      ++differing_;
    add(engine_->node_seconds(), node_seconds_);
  }
  void gather(const ImageRange& images) override {
    if (images.count == image_count()) {
      result_.outputs = std::move(first_);
    } else {
      if (rooms_.empty()) make_room();
      for (std::size_t i = 0; i < rooms_.size(); ++i) {
        const std::size_t each = result_.outputs[i].values.size() / image_count();
        std::memcpy(rooms_[i].get() + images.first * each, first_[i].values.data(), first_[i].values.bytes());
      }
    }
    result_.differing_trials += differing_;
    add(node_seconds_, result_.node_seconds);
    result_.overflow = first_node(result_.overflow, engine_->overflow());
  }

  static bool same_bits(const Tensor& one, const Tensor& other) {
    return std::memcmp(one.values.data(), other.values.data(), one.values.bytes()) == 0;
  }
  static void add(const std::vector<double>& seconds, std::vector<double>& all) {
    all.resize(seconds.size());
    std::transform(seconds.begin(), seconds.end(), all.begin(), all.begin(), std::plus<>());
  }

  const ModelVariant& variant_;
  const std::shared_ptr<const Model>& model_;
  const Tensor& images_;
  const ModelRunOptions& options_;
  std::unique_ptr<ModelEngine> own_;
  std::unique_ptr<ModelEngine>& engine_;
  bool stays_;                                   ///< the engine is that of an earlier run
  std::vector<std::shared_ptr<float[]>> rooms_;  ///< the storage of the result's outputs, of several batches
  Index next_ = 0;                               ///< the first image to announce
  std::vector<Tensor> found_;                    ///< of the last trial
  std::vector<Tensor> first_;                    ///< of the batch's first
  std::vector<double> node_seconds_;             ///< of the batch's trials
  int differing_ = 0;                            ///< likewise
  ModelRunResult result_;
};

}  // namespace

std::optional<Index> first_node(std::optional<Index> a, std::optional<Index> b) {
  return a && b ? std::min(a, b) : a ? a : b;
}

Shape output_of(const Model& model, ValueId output, Index images) {
  Shape shape = model.values[output].shape;
  shape[0] = static_cast<Extent>(images);
  return shape;
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
