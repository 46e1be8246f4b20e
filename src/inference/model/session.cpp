// Sessions of models: the engine is chosen and compiled once, and then answers batch after batch.

#include "spdnn/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/threads/cancellation.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/shape.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/run.hpp"
#include "inference/model/runnable.hpp"
#include "inference/run/session_lock.hpp"
#include "io/arrays/image_tensor.hpp"
#include "model/graph/node_text.hpp"
#include "model/rewrites/rewrite.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::shared_ptr<const Model> prepared(Model model, const Rewrites& rewrites) {
  model.validate();
  if (const std::string why_not = why_not_runnable(model); !why_not.empty()) throw DataError("model: " + why_not);
  rewrite(model, rewrites);
  return std::make_shared<const Model>(std::move(model));
}

/// An output of all images, joined from those of the batches in order.
class JoinedOutput {
 public:
  JoinedOutput(Shape shape, Index images) : shape_(std::move(shape)) {
    shape_[0] = static_cast<Extent>(images);
    size_ = elements(shape_).value();
    values_ = allocate<float>(size_);
  }
  void append(const Tensor& batch) {
    std::copy_n(batch.values.data(), batch.values.size(), values_.get() + filled_);
    filled_ += batch.values.size();
  }
  Tensor tensor() const { return {shape_, {values_, size_}}; }

 private:
  Shape shape_;
  std::size_t size_ = 0;
  std::size_t filled_ = 0;
  std::shared_ptr<float[]> values_;
};

}  // namespace

class ModelSession::Contents {
 public:
  Contents(Model model, const EngineSettings& settings, const Rewrites& rewrites)
      : model_(prepared(std::move(model), rewrites)) {
    require_threads(settings.threads);
    ModelEngineOptions& options = options_;
    options.threads = host_threads(settings.threads);
    options.host_memory = settings.host_memory;
    options.device = settings.cuda_device;
    options.epilogues = rewrites.epilogues;
    options.cancelled = [this] { return cancelled_ && cancelled_(); };
    const Index most = fixed_batch(*model_).value_or(kMaxIndex);
    options.batch = wanted_batch(settings, *model_, most);
    const ModelEngineChoice choice = choose_model_engine(settings, *model_, options);
    options.precision = choice.precision;
    options.batch = model_batch(settings, *choice.variant, *model_, most, options);
    variant_ = choice.variant->name;
    engine_ = make_engine(*choice.variant, model_, options);
  }

  Answer run(const Tensor& given, const std::function<bool()>& cancelled) {
    const auto alone = lock_session(running_);
    const Tensor images = image_tensor("images", given, model_->values[model_->inputs.front()].shape).tensor;
    const auto count = static_cast<Index>(images.shape[0]);
    check(count);
    cancelled_ = cancelled;
    return count <= batch() ? answer(images) : answer_in_batches(images, count);
  }

  const Model& model() const { return *model_; }
  const std::string& variant() const { return variant_; }
  const ModelEngineOptions& options() const { return options_; }
  Index batch() const { return options().batch; }

 private:
  std::vector<Tensor> outputs_of(const Tensor& images) {
    const auto nodes = static_cast<Index>(model_->nodes.size());
    Cancellation cancellation(cancelled_);
    engine_->load(images);
    for (Index node = 0; node < nodes;) {
      cancellation.check();
      node = engine_->advance(node, nodes);
    }
    return engine_->outputs();
  }

  Answer answer(const Tensor& images) {
    Answer answer{outputs_of(images), {}};
    if (const auto node = engine_->overflow()) answer.overflow = node_text(*model_, *node);
    return answer;
  }

  Answer answer_in_batches(const Tensor& images, Index count) {
    Answer all;
    std::vector<JoinedOutput> joined;
    std::optional<Index> overflow;
    for (Index first = 0; first < count; first += std::min(batch(), count - first)) {
      const std::vector<Tensor> outputs = outputs_of(images_from(images, first, std::min(batch(), count - first)));
      overflow = first_node(overflow, engine_->overflow());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (first == 0) joined.emplace_back(outputs[i].shape, count);
        joined[i].append(outputs[i]);
      }
    }
    for (const JoinedOutput& output : joined) all.outputs.push_back(output.tensor());
    if (overflow) all.overflow = node_text(*model_, *overflow);
    return all;
  }

  /// DataError where the images cannot be split into batches, or the outputs of several not be joined.
  void check(Index images) const {
    const std::optional<Index> fixed = fixed_batch(*model_);
    if (fixed && images % *fixed != 0)
      throw DataError(fmt::format("images: {}, expected a multiple of {}, the batch of the model", images, *fixed));
    if (images <= batch()) return;
    const Extent each = model_->values[model_->inputs.front()].shape[0];
    for (const ValueId id : model_->outputs) {
      const Value& output = model_->values[id];
      if (output.shape.empty() || output.shape[0] != each)
        throw DataError(fmt::format("images: {}, expected at most {}, as the output \"{}\" is {} for all of them",
                                    images, batch(), output.name, shape_text(output.shape)));
    }
  }

  std::shared_ptr<const Model> model_;
  std::string variant_;
  std::mutex running_;
  std::function<bool()> cancelled_;  ///< of the run under way
  ModelEngineOptions options_;
  std::unique_ptr<ModelEngine> engine_;
};

ModelSession::ModelSession(Model model, const EngineSettings& settings, const Rewrites& rewrites)
    : contents_(std::make_unique<Contents>(std::move(model), settings, rewrites)) {}
ModelSession::ModelSession(ModelSession&&) noexcept = default;
ModelSession& ModelSession::operator=(ModelSession&&) noexcept = default;
ModelSession::~ModelSession() = default;

ModelSession::Answer ModelSession::run(const Tensor& images, const std::function<bool()>& cancelled) const {
  return contents_->run(images, cancelled);
}

const Model& ModelSession::model() const { return contents_->model(); }
const std::string& ModelSession::variant() const { return contents_->variant(); }
Precision ModelSession::precision() const { return contents_->options().precision; }
Index ModelSession::batch() const { return contents_->batch(); }
int ModelSession::threads() const { return contents_->options().threads; }

}  // namespace spdnn
