#include "engines/cpu/conv/onednn/engine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "core/host_memory.hpp"
#include "core/stopwatch.hpp"
#include "engines/cpu/conv/onednn/loops.hpp"
#include "engines/cpu/conv/onednn/program.hpp"
#include "engines/model_variant_lines.hpp"
#include "model/graph/magnitudes.hpp"
#include "spdnn/error.hpp"

namespace spdnn::onednn {

namespace {

/// While it lives, OpenMP, and so oneDNN, takes that many threads for work that this thread begins.
class Threads {
 public:
  explicit Threads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

template <class Work>
auto with_onednn_errors(const Work& work) {
  try {
    return work();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw DeviceError(fmt::format("oneDNN: {}", error.what()));
  }
}

dnnl::memory::data_type type_of(Precision precision) {
  return precision == Precision::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::engine cpu() { return {dnnl::engine::kind::cpu, 0}; }

/// Weights and other constants, in the forms that programs ask for.
class Constants {
 public:
  explicit Constants(const dnnl::engine& engine) : engine_(engine) {}

  const dnnl::memory& get(const Buffer& buffer, dnnl::stream& stream) {
    std::vector<dnnl::memory>& forms = forms_[buffer.key];
    for (const dnnl::memory& memory : forms)
      if (memory.get_desc() == buffer.form) return memory;
    std::vector<float> values = buffer.values();
    dnnl::memory plain(buffer.plain, engine_, values.data());
    dnnl::memory memory(buffer.form, engine_);
    dnnl::reorder(plain, memory).execute(stream, plain, memory);
    stream.wait();
    return forms.emplace_back(std::move(memory));
  }

 private:
  dnnl::engine engine_;
  std::map<std::pair<Index, int>, std::vector<dnnl::memory>> forms_;
};

/// A program with its primitives made and its operands in memory. The arena lives as long as what is bound to it.
class BoundProgram {
 public:
  BoundProgram(const Program& program, const dnnl::engine& engine, dnnl::stream& stream, Constants& constants,
               std::shared_ptr<HostMemory<std::byte>> arena)
      : arena_(std::move(arena)) {
    const auto memory = [&](const Operand& operand) {
      const Buffer& buffer = program.buffers[operand.buffer];
      if (buffer.kind == Buffer::Kind::arena)
        return dnnl::memory(operand.desc, engine, arena_->data() + program.arena.offsets[operand.buffer]);
      if (buffer.kind == Buffer::Kind::constant)
        return dnnl::memory(operand.desc, engine, constants.get(buffer, stream).get_data_handle());
      return inputs_.emplace_back(operand.desc, engine, nullptr);
    };
    for (const Action& action : program.actions) {
      Ready ready{action.node, action.place, {}, {}, action.loop, {}};
      if (action.make) ready.primitive = action.make();
      for (const auto& [number, operand] : action.arguments) {
        if (action.make)
          ready.arguments.emplace(number, memory(operand));
        else
          ready.data.push_back(memory(operand));
      }
      actions_.push_back(std::move(ready));
    }
    for (const Operand& operand : program.outputs) outputs_.push_back(memory(operand));
    for (const Watched& watched : program.watched) watched_.emplace_back(watched.node, memory(watched.beyond));
    unproven_ = program.unproven;
  }

  void set_input(const float* data) {
    // Read only: no action writes to the input's buffer.
    for (dnnl::memory& input : inputs_) input.set_data_handle(const_cast<float*>(data));
  }
  std::size_t actions() const { return actions_.size(); }
  Index node(std::size_t action) const { return actions_[action].node; }
  Index place(std::size_t action) const { return actions_[action].place; }
  const dnnl::memory& output(std::size_t number) const { return outputs_[number]; }
  /// See ModelEngine::overflow(), of images that are within what is trusted.
  std::optional<Index> overflow() const {
    std::optional<Index> first = unproven_;
    for (const auto& [node, beyond] : watched_)
      if (*static_cast<const float*>(beyond.get_data_handle()) != 0) first = std::min(first.value_or(node), node);
    return first;
  }

  void run(std::size_t number, dnnl::stream& stream) const {
    const Ready& action = actions_[number];
    if (!action.loop) return action.primitive.execute(stream, action.arguments);
    std::vector<float*> data;
    for (const dnnl::memory& memory : action.data) data.push_back(static_cast<float*>(memory.get_data_handle()));
    action.loop(data);
  }

 private:
  struct Ready {
    Index node;
    Index place;
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
    std::function<void(std::span<float* const>)> loop;
    std::vector<dnnl::memory> data;
  };
  std::shared_ptr<HostMemory<std::byte>> arena_;
  std::vector<Ready> actions_;
  std::vector<dnnl::memory> inputs_;
  std::vector<dnnl::memory> outputs_;
  std::vector<std::pair<Index, dnnl::memory>> watched_;  ///< nodes
  std::optional<Index> unproven_;
};

bool takes_any_batch(const Model& model) {
  const Shape& input = model.values[model.inputs.front()].shape;
  return !input.empty() && input.front() == kBatchExtent;
}

CompileOptions compile_options(const Model& model, const ModelEngineOptions& options, bool sparse_linear) {
  // Where the model's number of images is fixed, each node's rows are of all of them.
  const Index images = takes_any_batch(model) ? options.images_for_kernels() : 1;
  return {type_of(options.precision), sparse_linear ? images : 0, options.epilogues};
}

class Engine final : public ModelEngine {
 public:
  Engine(std::shared_ptr<const Model> model, const ModelEngineOptions& options, bool sparse_linear)
      : model_(std::move(model)),
        options_(options),
        compile_options_(compile_options(*model_, options, sparse_linear)),
        magnitudes_(*model_),
        seconds_(options.profile ? model_->nodes.size() : 0) {
    const Threads threads(options_.threads);
    bind(takes_any_batch(*model_) ? options_.batch : 1);
  }

  void load(const Tensor& images) override {
    const Index count = images_of(*model_, images, options_.batch);
    const Threads threads(options_.threads);
    with_onednn_errors([&] {
      const auto made = programs_.find(count);
      BoundProgram* const ready = made == programs_.end() ? nullptr : &made->second;
      bound_ = nullptr;  // where bind() throws, what was bound may be gone
      bound_ = ready != nullptr ? ready : &bind(count);
      input_ = images.values;
      bound_->set_input(input_.data());
      trusted_ = loops::within(input_.data(), input_.bytes(), false, static_cast<float>(kLargestTrusted));
    });
    images_ = count;
    reset();
  }

  void reset() override {
    next_ = 0;
    std::fill(seconds_.begin(), seconds_.end(), 0.0);
  }

  Index advance(Index /*first*/, Index until) override {
    require_loaded();
    const Threads threads(options_.threads);
    with_onednn_errors([&] {
      for (; next_ < bound_->actions() && bound_->place(next_) < until; ++next_) {
        if (options_.cancelled && options_.cancelled()) throw Cancelled("the run was cancelled");
        const Stopwatch watch;
        bound_->run(next_, stream_);
        stream_.wait();
        if (options_.profile) seconds_[bound_->node(next_)] += watch.seconds();
      }
    });
    return until;
  }

  std::vector<Tensor> outputs() override {
    require_loaded();
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < model_->outputs.size(); ++i) {
      const Shape shape = with_batch(model_->values[model_->outputs[i]].shape, images_);
      const std::size_t size = elements(shape).value();
      const auto values = allocate<float>(size);
      std::copy_n(static_cast<const float*>(bound_->output(i).get_data_handle()), size, values.get());
      all.push_back({shape, {values, size}});
    }
    return all;
  }

  std::optional<Index> overflow() const override { return trusted_ ? bound_->overflow() : std::optional<Index>(0); }

  std::vector<double> node_seconds() const override { return seconds_; }

 private:
  /// Programs are kept for use again, but not more than these: a loop over batches needs two, for the last batch too.
  static constexpr std::size_t kMostPrograms = 4;

  void require_loaded() const {
    if (bound_ == nullptr) throw std::logic_error("no images are loaded");
  }

  BoundProgram& bind(Index images) {
    const Program program = compile(*model_, magnitudes_, images, compile_options_, engine_);
    if (programs_.size() >= kMostPrograms) programs_.clear();
    if (program.arena.bytes > arena_->size()) arena_ = std::make_shared<HostMemory<std::byte>>(program.arena.bytes);
    const auto made = programs_.try_emplace(images, program, engine_, stream_, constants_, arena_);
    return made.first->second;
  }

  std::shared_ptr<const Model> model_;
  ModelEngineOptions options_;
  CompileOptions compile_options_;
  Magnitudes magnitudes_;
  dnnl::engine engine_ = cpu();
  dnnl::stream stream_{engine_};
  Constants constants_{engine_};
  /// The largest so far. Programs for fewer images, which nearly always need less, are bound to it as well.
  std::shared_ptr<HostMemory<std::byte>> arena_ = std::make_shared<HostMemory<std::byte>>();
  std::map<Index, BoundProgram> programs_;  ///< by number of images
  BoundProgram* bound_ = nullptr;           ///< of the loaded images
  Array<float> input_;
  Index images_ = 0;
  bool trusted_ = false;  ///< the images are within kLargestTrusted
  std::size_t next_ = 0;  ///< action
  std::vector<double> seconds_;
};

}  // namespace

Support support(const Model& model, const ModelEngineOptions& options, bool sparse_linear) {
  if (options.precision == Precision::bf16) {
    const auto isa = dnnl::get_effective_cpu_isa();
    const bool has = isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
    if (!has) return {.why_not = "bf16 needs AVX512_BF16 or AMX, which this processor has not"};
  }
  const Threads threads(options.threads);
  return with_onednn_errors([&]() -> Support {
    const Program program = compile(model, Magnitudes(model), takes_any_batch(model) ? options.batch : 1,
                                    compile_options(model, options, sparse_linear), cpu());
    const std::size_t bytes = program.arena.bytes + program.constant_bytes;
    if (options.host_memory != 0 && bytes > options.host_memory)
      return {.why_not = fmt::format("needs {} bytes for weights and activations, and may take {}", bytes,
                                     options.host_memory)};
    return {.working_bytes = bytes};
  });
}

std::unique_ptr<ModelEngine> make(std::shared_ptr<const Model> model, const ModelEngineOptions& options,
                                  bool sparse_linear) {
  return with_onednn_errors(
      [&]() -> std::unique_ptr<ModelEngine> { return std::make_unique<Engine>(model, options, sparse_linear); });
}

}  // namespace spdnn::onednn
