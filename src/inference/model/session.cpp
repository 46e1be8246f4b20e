// Sessions of models: the engine is chosen and compiled once, and then answers batch after batch.

#include "spdnn/session.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <utility>

#include "core/threads/parallel.hpp"
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

}  // namespace

class ModelSession::Contents {
 public:
  Contents(Model model, const EngineSettings& settings, const Rewrites& rewrites)
      : model_(prepared(std::move(model), rewrites)) {
    require_threads(settings.threads);
    ModelEngineOptions& options = options_.engine;
    options.threads = host_threads(settings.threads);
    options.host_memory = settings.host_memory;
    options.device = settings.cuda_device;
    options.epilogues = rewrites.epilogues;
    options.compile_seconds = settings.compile_seconds;
    options.cancelled = [this] { return cancelled_ && cancelled_(); };
    const std::optional<Index> fixed = fixed_batch(*model_);
    const Index most = fixed.value_or(kMaxIndex);
    options.batch = wanted_batch(settings, *model_, most);
    KnownSupport known(*model_);
    const ModelEngineChoice choice = choose_model_engine(settings, known, options);
    options.precision = choice.precision;
    options.batch = model_batch(settings, *choice.variant, known, most, options);
    variant_ = choice.variant->name;
    const int computing = known.of(*choice.variant, options).threads;
    computing_threads_ = computing > 0 ? computing : options.threads;
    engine_ = make_engine(*choice.variant, model_, options);
    options_.batch = fixed ? *fixed : settings.batch;
    options_.kept = &engine_;
  }

  Answer run(const Tensor& given, const std::function<bool()>& cancelled) {
    const auto alone = lock_session(running_);
    const Tensor images = image_tensor("images", given, model_->values[model_->inputs.front()].shape).tensor;
    check(static_cast<Index>(images.shape[0]));
    cancelled_ = cancelled;
    ModelRunResult result = run_model(find_model_variant(variant_), model_, images, options_);
    options_.engine.batch = result.batch;
    return {std::move(result.outputs), result.overflow ? node_text(*model_, *result.overflow) : ""};
  }

  const Model& model() const { return *model_; }
  const std::string& variant() const { return variant_; }
  const ModelEngineOptions& options() const { return options_.engine; }
  Index batch() const { return options().batch; }
  int computing_threads() const { return computing_threads_; }

 private:
  /// DataError if the images cannot be split into batches, or the outputs of several batches cannot be joined.
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
  int computing_threads_ = 1;
  std::mutex running_;
  std::function<bool()> cancelled_;  ///< of the run under way
  ModelRunOptions options_;
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
int ModelSession::computing_threads() const { return contents_->computing_threads(); }

}  // namespace spdnn
