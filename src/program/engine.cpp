// The model engine, which runs programs of any kernels.

#include "program/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/system/stopwatch.hpp"
#include "core/threads/background.hpp"
#include "model/graph/magnitudes.hpp"
#include "program/bound_program.hpp"
#include "program/compile.hpp"
#include "program/stored.hpp"
#include "program/threads.hpp"
#include "program/within.hpp"
#include "spdnn/error.hpp"

namespace spdnn::program {

namespace {

bool takes_any_batch(const Model& model) {
  const Shape& input = model.values[model.inputs.front()].shape;
  return !input.empty() && input.front() == kBatchExtent;
}

Index images_at_once(const Model& model, const ModelEngineOptions& options) {
  return takes_any_batch(model) ? options.batch : 1;
}

/// Programs of the host alone are stored.
Program made(const Model& model, const Magnitudes& magnitudes, Index images, const CompileOptions& options) {
  return options.target != nullptr ? compile(model, magnitudes, images, options)
                                   : stored_or_compiled(model, magnitudes, images, options);
}

CompileOptions compile_options(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                               Target* target) {
  // With a fixed batch, each node's rows are those of all images.
  const Index images = takes_any_batch(model) ? options.images_for_kernels() : 1;
  return {.type = options.precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32,
          .kernels_for = images,
          .epilogues = options.epilogues,
          .threads = options.threads,
          .compile_seconds = options.compile_seconds,
          .kernels = kernels,
          .target = target};
}

class Engine final : public ModelEngine {
 public:
  Engine(std::shared_ptr<const Model> model, const ModelEngineOptions& options, const Kernels& kernels,
         std::shared_ptr<Target> target, const Program* compiled)
      : model_(std::move(model)),
        options_(options),
        target_(std::move(target)),
        compile_options_(compile_options(*model_, options, kernels, target_.get())),
        magnitudes_(*model_),
        constants_(target_.get()),
        seconds_(options.profile ? model_->nodes.size() : 0) {
    const Threads threads(options_.threads);
    use_target();
    const Index images = images_at_once(*model_, options_);
    compiled != nullptr ? bind(images, *compiled) : bind(images);
  }

  ~Engine() override {
    next_images_.reset();
    if (target_ == nullptr) return;
    target_->use();
    target_->wait();
  }

  void load(const Tensor& images) override {
    use_target();
    if (target_ != nullptr) target_->wait();  // the batch before needs neither its program nor its images any more
    const Index count = images_of(*model_, images, options_.batch);
    const Threads threads(options_.threads);
    const auto made = programs_.find(count);
    BoundProgram* const ready = made == programs_.end() ? nullptr : &made->second;
    bound_ = nullptr;  // if bind() throws, earlier bindings may be invalid
    bound_ = ready != nullptr ? ready : &bind(count);
    take(images.values);
    images_ = count;
    reset();
  }

  void announce(const Tensor& images) override {
    next_images_.reset();
    if (target_ == nullptr || images.values.bytes() > image_bytes_) return;
    next_images_.emplace(images.values, [this, values = images.values, to = images_at(1 - side_)](const auto&) {
      target_->use();
      return copied(values, to, true);
    });
  }

  void reset() override {
    next_ = 0;
    std::fill(seconds_.begin(), seconds_.end(), 0.0);
  }

  Index advance(Index /*first*/, Index until) override {
    require_loaded();
    use_target();
    const Threads threads(options_.threads);
    while (next_ < bound_->actions() && bound_->place(next_) < until) {
      if (options_.cancelled && options_.cancelled()) throw Cancelled("the run was cancelled");
      if (!options_.profile) {
        next_ = bound_->run(next_, until);
        continue;
      }
      const Stopwatch watch;
      bound_->run(next_);
      if (target_ != nullptr) target_->wait();
      seconds_[bound_->node(next_++)] += watch.seconds();
    }
    return until;
  }

  std::vector<Tensor> outputs() override {
    require_loaded();
    if (target_ != nullptr) target_->wait();
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
      const Shape shape = with_batch(model_->values[model_->outputs[i]].shape, images_);
      const std::size_t size = elements(shape).value();
      const auto values = allocate<float>(size);
      std::copy_n(bound_->output(i), size, values.get());
      all.push_back({shape, {values, size}});
    }
    return all;
  }

  std::optional<Index> overflow() const override { return trusted_ ? bound_->overflow() : std::optional<Index>(0); }

  std::vector<double> node_seconds() const override { return seconds_; }

  std::vector<std::string> notes() const override { return notes_; }

 private:
  /// Programs are kept for use again, but not more than these: a loop over batches needs two, for the last batch too.
  static constexpr std::size_t kMostPrograms = 4;

  /// The images that were announced, on their way to the device.
  struct Announced {
    Announced(Array<float> images, std::function<bool(const std::stop_token&)> copy)
        : values(std::move(images)), trusted(std::move(copy)) {}
    Array<float> values;
    Background<bool> trusted;
  };

  std::byte* images_at(std::size_t side) const { return device_images_.get() + side * image_bytes_; }

  /// Copies images to the device, and returns whether they are within kLargestTrusted. `beside`: on another thread than
  /// the one of the kernels, and so beside them.
  bool copied(const Array<float>& images, std::byte* to, bool beside) const {
    const auto* const from = reinterpret_cast<const std::byte*>(images.data());
    if (target_ != nullptr && images.bytes() <= image_bytes_) target_->upload(to, from, images.bytes());
    const Threads threads(beside ? 1 : options_.threads);
    return within(from, images.bytes(), ElementType::fp32, static_cast<float>(kLargestTrusted));
  }

  /// Images that were announced are in the other half of the memory.
  void take(const Array<float>& images) {
    input_ = images;
    const bool announced =
        next_images_ && next_images_->values.data() == images.data() && next_images_->values.size() == images.size();
    if (announced) {
      side_ = 1 - side_;
      trusted_ = next_images_->trusted.get();
    }
    next_images_.reset();
    if (!announced) trusted_ = copied(images, images_at(side_), false);
    bound_->set_input(images.data(), images_at(side_));
  }

  void use_target() const {
    if (target_ != nullptr) target_->use();
  }

  void require_loaded() const {
    if (bound_ == nullptr) throw std::logic_error("no images are loaded");
  }

  BoundProgram& bind(Index images) { return bind(images, made(*model_, magnitudes_, images, compile_options_)); }

  BoundProgram& bind(Index images, const Program& program) {
    if (programs_.size() >= kMostPrograms) programs_.clear();
    if (program.arena.bytes > host_bytes_) {
      arenas_.host = host_memory(program.arena.bytes);
      host_bytes_ = program.arena.bytes;
    }
    if (program.device_arena.bytes > device_bytes_) {
      arenas_.device = target_->allocate(program.device_arena.bytes);
      device_bytes_ = program.device_arena.bytes;
    }
    if (program.device_image_bytes > image_bytes_) {
      next_images_.reset();
      image_bytes_ = (program.device_image_bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
      device_images_ = target_->allocate(2 * image_bytes_);
      target_->wait();  // another thread may write to it
    }
    BoundProgram& made = programs_.try_emplace(images, program, constants_, arenas_, target_.get()).first->second;
    if (notes_.empty()) notes_ = made.remarks();  // those of programs for fewer images say the same
    return made;
  }

  std::shared_ptr<const Model> model_;
  ModelEngineOptions options_;
  std::shared_ptr<Target> target_;  ///< null: the host alone
  CompileOptions compile_options_;
  Magnitudes magnitudes_;
  Constants constants_;
  /// The largest so far. Programs for fewer images, which nearly always need less, are bound to it as well.
  Arenas arenas_;
  std::size_t host_bytes_ = 0;
  std::size_t device_bytes_ = 0;
  std::map<Index, BoundProgram> programs_;  ///< by number of images
  BoundProgram* bound_ = nullptr;           ///< of the loaded images
  Array<float> input_;
  std::shared_ptr<std::byte> device_images_;  ///< two halves: of the loaded images, and of those announced
  std::size_t image_bytes_ = 0;               ///< of a half
  std::size_t side_ = 0;                      ///< the half of the loaded images
  std::optional<Announced> next_images_;      ///< its thread uses what is above
  Index images_ = 0;
  bool trusted_ = false;  ///< the images are within kLargestTrusted
  std::size_t next_ = 0;  ///< action
  std::vector<std::string> notes_;
  std::vector<double> seconds_;
};

}  // namespace

Program program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels, Target* target) {
  const Threads threads(options.threads);
  if (target != nullptr) target->use();
  return made(model, Magnitudes(model), images_at_once(model, options),
              compile_options(model, options, kernels, target));
}

Tuned tuned_program_for(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                        const Kernels& skipping) {
  const Threads threads(options.threads);
  return tuned(model, Magnitudes(model), images_at_once(model, options),
               compile_options(model, options, kernels, nullptr), skipping);
}

std::string text_to_store(const Program& program, const Model& model, const ModelEngineOptions& options,
                          const Kernels& kernels) {
  return stored_text(
      program, origin_of(model, images_at_once(model, options), compile_options(model, options, kernels, nullptr)));
}

Support support_of(const Program& program, const ModelEngineOptions& options, Target* target) {
  if (target != nullptr) {
    const std::size_t bytes =
        program.device_arena.bytes + program.device_constant_bytes + 2 * program.device_image_bytes;
    const std::size_t budget = target->memory_budget();
    Support support{.working_bytes = bytes, .remarks = program.remarks};
    support.too_large = bytes > budget;
    if (support.too_large)
      support.why_not = fmt::format(
          "needs {} bytes of the device's memory for weights and activations; {} are available", bytes, budget);
    return support;
  }
  const std::size_t bytes = program.arena.bytes + program.constant_bytes;
  Support support{.working_bytes = bytes, .remarks = program.remarks};
  support.too_large = options.host_memory != 0 && bytes > options.host_memory;
  if (support.too_large)
    support.why_not =
        fmt::format("needs {} bytes for weights and activations; {} are available", bytes, options.host_memory);
  return support;
}

std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  const Kernels& kernels, std::shared_ptr<Target> target, const Program* compiled) {
  return std::make_unique<Engine>(std::move(model), options, kernels, std::move(target), compiled);
}

}  // namespace spdnn::program
