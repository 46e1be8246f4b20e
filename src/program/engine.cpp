// The model engine, which runs programs of any kernels.

#include "program/engine.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/system/stopwatch.hpp"
#include "core/threads/background.hpp"
#include "core/threads/parallel.hpp"
#include "core/threads/waiting.hpp"
#include "program/bound_program.hpp"
#include "program/compile_for.hpp"
#include "program/parts.hpp"
#include "program/stored.hpp"
#include "program/threads.hpp"
#include "program/within.hpp"
#include "spdnn/error.hpp"

namespace spdnn::program {

namespace {

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
        parts_(parts_for(*model_, options_, options_.batch, target_.get())),
        arenas_(static_cast<std::size_t>(parts_.teams)),
        seconds_of_image_(useful_threads(*model_, 1, options_.threads).seconds),
        seconds_(options.profile ? model_->nodes.size() : 0) {
    const Threads threads(compile_options_.threads);
    use_target();
    compiled != nullptr ? bind(parts_.images, *compiled) : bind(parts_.images);
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
    const Threads threads(compile_options_.threads);
    bound_ = nullptr;  // if bind() throws, earlier bindings may be invalid
    const Index part = images_of_part(parts_, count);
    const Index rest = count % part;
    const bool all_made = programs_.count(part) + programs_.count(rest == 0 ? part : rest) == 2;
    if (!all_made && programs_.size() + 2 > kMostPrograms) programs_.clear();
    if (rest != 0) program_of(rest);
    bound_ = &program_of(part).front();
    take(images.values);
    images_ = count;
    images_of_part_ = part;
    threads_ = compile_options_.threads;
    if (threads_ > 1 && target_ == nullptr && is_one_turn(seconds_of_image_ * count) && waiting::machine_is_busy())
      take_one_thread();
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
    const Threads threads(threads_);
    if (!has_parts())
      next_ = run(*bound_, next_, until, seconds_, true);
    else if (until == std::ssize(model_->nodes))
      run_parts();
    return until;
  }

  std::vector<Tensor> outputs() override {
    require_loaded();
    if (target_ != nullptr) target_->wait();
    if (has_parts()) return outputs_of_parts_;
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
      const auto [tensor, values] = output_for(i, images_);
      std::copy_n(bound_->output(i), tensor.values.size(), values.get());
      all.push_back(tensor);
    }
    return all;
  }

  std::optional<Index> overflow() const override {
    if (!trusted_) return 0;
    return has_parts() ? overflow_of_parts_ : bound_->overflow();
  }

  std::vector<double> node_seconds() const override { return seconds_; }

  std::vector<std::string> notes() const override { return notes_; }

  std::vector<StoredCode> code() const override {
    std::vector<StoredCode> all = programs_.at(parts_.images).front().code();
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.digest < b.digest; });
    const auto equal = [](const auto& a, const auto& b) { return a.digest == b.digest; };
    all.erase(std::unique(all.begin(), all.end(), equal), all.end());
    return all;
  }

 private:
  /// Programs are kept for use again, but not more than these: a loop over batches needs two, for the last batch too.
  static constexpr std::size_t kMostPrograms = 4;

  /// Images that one thread has looked at before another is awake.
  static constexpr std::size_t kFewBytes = std::size_t{1} << 19U;

  /// The images that were announced, on their way to the device.
  struct Announced {
    Announced(Array<float> images, std::function<bool(const std::stop_token&)> copy)
        : values(std::move(images)), trusted(std::move(copy)) {}
    Array<float> values;
    Background<bool> trusted;
  };

  /// Whether the loaded images are computed in parts, at the end of all nodes.
  bool has_parts() const { return images_ > images_of_part_; }

  /// Runs actions from `next` on, up to those at the node `until`, and returns the next. `asks`: on the calling thread.
  std::size_t run(BoundProgram& bound, std::size_t next, Index until, std::vector<double>& seconds, bool asks) const {
    while (next < bound.actions() && bound.place(next) < until) {
      if (asks) end_if_cancelled();
      if (!options_.profile) {
        next = bound.run(next, until);
        continue;
      }
      const Stopwatch watch;
      bound.run(next);
      if (target_ != nullptr) target_->wait();
      seconds[bound.node(next++)] += watch.seconds();
    }
    return next;
  }

  void end_if_cancelled() const {
    if (options_.cancelled && options_.cancelled()) throw Cancelled("the run was cancelled");
  }

  void run_parts() {
    end_if_cancelled();  // the calling thread may get no part
    std::vector<std::shared_ptr<float[]>> to;
    outputs_of_parts_.clear();
    for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
      const auto [tensor, values] = output_for(i, images_);
      outputs_of_parts_.push_back(tensor);
      to.push_back(values);
    }
    const int teams = std::min(parts_.teams, static_cast<int>((images_ - 1) / images_of_part_ + 1));
    std::vector<std::optional<Index>> overflows(static_cast<std::size_t>(teams));
    std::vector<std::vector<double>> seconds(overflows.size(), std::vector<double>(seconds_.size()));
    std::atomic<Index> next_part = 0;
    std::atomic<bool> ended = false;
    const auto run_some = [&](std::size_t team) {
      try {
        for (Index first = 0; !ended && (first = images_of_part_ * next_part++) < images_;)
          run_part(first, team, to, overflows[team], seconds[team]);
      } catch (...) {
        ended = true;
        throw;
      }
    };
    if (teams == 1)
      run_some(0);
    else
      run_team(teams, [&](int member, int) { run_some(static_cast<std::size_t>(member)); });
    overflow_of_parts_.reset();
    for (const std::optional<Index>& node : overflows)
      if (node) overflow_of_parts_ = std::min(overflow_of_parts_.value_or(*node), *node);
    const auto has_worked = [](const std::vector<double>& of_team) {
      return std::any_of(of_team.begin(), of_team.end(), [](double of_node) { return of_node > 0; });
    };
    const auto at_work = static_cast<double>(std::count_if(seconds.begin(), seconds.end(), has_worked));
    for (const std::vector<double>& of_team : seconds)
      for (std::size_t node = 0; node < seconds_.size(); ++node)
        if (of_team[node] > 0) seconds_[node] += of_team[node] / at_work;
  }

  void run_part(Index first, std::size_t team, const std::vector<std::shared_ptr<float[]>>& to,
                std::optional<Index>& overflow, std::vector<double>& seconds) {
    const auto of_images = [&](std::size_t numbers, Index images) {
      return numbers / static_cast<std::size_t>(images_) * static_cast<std::size_t>(images);
    };
    const Index count = std::min(images_of_part_, images_ - first);
    BoundProgram& bound = programs_.at(count)[team];
    bound.set_input(input_.data() + of_images(input_.size(), first));
    run(bound, 0, narrow<Index>(model_->nodes.size()), seconds, team == 0);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t size = outputs_of_parts_[i].values.size();
      std::copy_n(bound.output(i), of_images(size, count), to[i].get() + of_images(size, first));
    }
    if (const auto node = bound.overflow()) overflow = std::min(overflow.value_or(*node), *node);
  }

  /// Memory for an output of that many images, and the tensor that is made of it.
  std::pair<Tensor, std::shared_ptr<float[]>> output_for(std::size_t number, Index images) const {
    const Shape shape = with_batch(model_->values[model_->outputs[number]].shape, images);
    const std::size_t size = elements(shape).value();
    const auto values = allocate<float>(size);
    return {Tensor{shape, {values, size}}, values};
  }

  std::byte* images_at(std::size_t side) const { return device_images_.get() + side * image_bytes_; }

  /// Copies images to the device, and returns whether they are within kLargestTrusted. `beside`: on another thread than
  /// the one of the kernels, and so beside them.
  bool copied(const Array<float>& images, std::byte* to, bool beside) const {
    const auto* const from = reinterpret_cast<const std::byte*>(images.data());
    if (target_ != nullptr && images.bytes() <= image_bytes_) target_->upload(to, from, images.bytes());
    const Threads threads(beside || images.bytes() < kFewBytes ? 1 : options_.threads);
    const auto trusted = [&](std::size_t begin, std::size_t end) {
      return within(from + begin * sizeof(float), (end - begin) * sizeof(float), ElementType::fp32,
                    static_cast<float>(kLargestTrusted));
    };
    if (parts_.teams == 1) return trusted(0, images.size());
    // By the threads that compute parts afterwards: OpenMP's would still spin beside them.
    std::atomic<bool> all = true;
    parallel_ranges(images.size(), static_cast<std::size_t>(parts_.teams),
                    [&](auto, std::size_t begin, std::size_t end) {
                      if (!trusted(begin, end)) all = false;
                    });
    return all;
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

  void take_one_thread() {
    threads_ = 1;
    const Threads one(threads_);
    bound_->follow_threads();
  }

  void require_loaded() const {
    if (bound_ == nullptr) throw std::logic_error("no images are loaded");
  }

  std::vector<BoundProgram>& program_of(Index images) {
    const auto made = programs_.find(images);
    return made != programs_.end() ? made->second : bind(images);
  }

  std::vector<BoundProgram>& bind(Index images) {
    return bind(images, stored_or_compiled(*model_, magnitudes_, images, compile_options_));
  }

  std::vector<BoundProgram>& bind(Index images, const Program& program) {
    if (program.arena.bytes > host_bytes_) {
      for (Arenas& arenas : arenas_) arenas.host = host_memory(program.arena.bytes);
      host_bytes_ = program.arena.bytes;
    }
    if (program.device_arena.bytes > device_bytes_) {
      arenas_.front().device = target_->allocate(program.device_arena.bytes);
      device_bytes_ = program.device_arena.bytes;
    }
    if (program.device_image_bytes > image_bytes_) {
      next_images_.reset();
      image_bytes_ = aligned(program.device_image_bytes);
      device_images_ = target_->allocate(2 * image_bytes_);
      target_->wait();  // another thread may write to it
    }
    std::vector<BoundProgram> made;
    for (const Arenas& arenas : arenas_) made.emplace_back(program, constants_, arenas, target_.get());
    if (notes_.empty()) notes_ = made.front().remarks();  // those of programs for fewer images say the same
    return programs_.insert_or_assign(images, std::move(made)).first->second;
  }

  std::shared_ptr<const Model> model_;
  ModelEngineOptions options_;
  std::shared_ptr<Target> target_;  ///< null: the host alone
  CompileOptions compile_options_;
  Magnitudes magnitudes_;
  Constants constants_;
  Parts parts_;
  /// The largest so far. Programs for fewer images, which nearly always need less, are bound to it as well.
  std::vector<Arenas> arenas_;  ///< by team
  std::size_t host_bytes_ = 0;
  std::size_t device_bytes_ = 0;
  std::map<Index, std::vector<BoundProgram>> programs_;  ///< by number of images; one for each team
  BoundProgram* bound_ = nullptr;                        ///< of the loaded images, or of a part of them
  std::vector<Tensor> outputs_of_parts_;
  std::optional<Index> overflow_of_parts_;
  Array<float> input_;
  std::shared_ptr<std::byte> device_images_;  ///< two halves: of the loaded images, and of those announced
  std::size_t image_bytes_ = 0;               ///< of a half
  std::size_t side_ = 0;                      ///< the half of the loaded images
  std::optional<Announced> next_images_;      ///< its thread uses what is above
  const double seconds_of_image_;             ///< predicted for one thread
  int threads_ = 1;                           ///< that compute the loaded images
  Index images_ = 0;
  Index images_of_part_ = 0;
  bool trusted_ = false;  ///< the images are within kLargestTrusted
  std::size_t next_ = 0;  ///< action
  std::vector<std::string> notes_;
  std::vector<double> seconds_;
};

}  // namespace

std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  const Kernels& kernels, std::shared_ptr<Target> target, const Program* compiled) {
  return std::make_unique<Engine>(std::move(model), options, kernels, std::move(target), compiled);
}

}  // namespace spdnn::program
