// The engine `cascade`; README.md lists its files. advance() runs the whole plan when the last layer is requested, and
// nothing before. activations() runs the layers again, from the inputs.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/cuda/cascade/count.cuh"
#include "engines/cuda/cascade/front.hpp"
#include "engines/cuda/cascade/kernel.cuh"
#include "engines/cuda/cascade/setup.hpp"
#include "engines/cuda/cascade/tail.cuh"
#include "engines/cuda/cascade/uploaded_program.hpp"
#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/retire/offered_duplicates.hpp"
#include "engines/cuda/retire/outcome.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/overflow.hpp"
#include "engines/streamed.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

using cascade::Counters;
using cascade::CountingArgs;
using cascade::LaunchArgs;
using cascade::SharedLayout;
using cascade::Survivors;

/// Survivors on the device, with room for all images of a batch.
struct SurvivorBuffers {
  DeviceBuffer<float> rows;
  DeviceBuffer<Index> images;
  Index stride = 0;

  void reserve(Index count, Index row_stride, cudaStream_t stream) {
    stride = row_stride;
    rows.reserve(std::size_t{count} * row_stride, stream);
    images.reserve(count, stream);
  }
  /// launches_of() adds the count.
  Survivors view() const { return {.rows = rows.data(), .stride = stride, .images = images.data(), .count = nullptr}; }
};

/// The reason why this device does not support the plan, or empty.
std::string reason_against_device(const Plan& plan, const cudaDeviceProp& device) {
  const Index width = plan.max_outputs();
  if (cascade::divide_shared_memory(width, device.sharedMemPerBlockOptin).regions > 0) return {};
  return "cascade: a layer of " + std::to_string(width) +
         " neurons does not fit this device's shared memory; spmm_rows supports any";
}

/// Allows a kernel its shared memory, `blocks` times on each multiprocessor, for all engines of the process; the
/// carve-out is a hint.
template <class Kernel>
void allow_shared_memory(Kernel kernel, std::size_t bytes, const cudaDeviceProp& device, Index blocks = 1) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(device.sharedMemPerBlockOptin)));
  const std::size_t all = device.sharedMemPerMultiprocessor;
  const std::size_t needed = std::min(all, blocks * (bytes + device.reservedSharedMemPerBlock));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             static_cast<int>((100 * needed + all - 1) / all)));
}

class CascadeEngine final : public InspectableEngine {
 public:
  CascadeEngine(std::shared_ptr<const Plan> plan, const EngineOptions& options)
      : shared_plan_(std::move(plan)), stream_(stream_on(options)) {
    const CascadeProgram compiled = compile_cascade(plan_);
    const cudaDeviceProp& device = device_properties(options.device);
    const SharedLayout layout = cascade::divide_shared_memory(plan_.max_outputs(), device.sharedMemPerBlockOptin);
    shared_bytes_ = layout.bytes();
    blocks_ = static_cast<unsigned>(device.multiProcessorCount);
    early_starts_ = device.major >= 9;
    row_stride_ = cascade::padded_width(compiled.width);
    second_ = cascade::second_launch_layer(compiled);
    program_.emplace(compiled, plan_, layout, stream_);
    if (program_->front) use_front(cascade::front_launches(program_->front->neurons), device);
    CountingArgs& counting = program_->counting;
    counting.tile = cascade::counting_tile(counting, device.sharedMemPerBlockOptin);
    if (counting.tile == 0)
      throw UsageError("cascade: images of " + std::to_string(plan_.inputs()) +
                       " neurons do not fit this device's shared memory; spmm_rows supports any");
    allow_shared_memory(cascade::cascade_kernel, shared_bytes_, device);  // the rest is L1, for terms
    allow_shared_memory(cascade::tail_kernel, sizeof(cascade::TailBlock), device);
    allow_shared_memory(cascade::count_kernel, device.sharedMemPerMultiprocessor, device);
  }
  ~CascadeEngine() override { cudaStreamSynchronize(stream_); }

  void load(const ImageSet& images) override {
    const ImageSet bits = images.is_bits() ? images : ImageSet{images.to_bits()};
    images_.load(bits, stream_);
    filters_ = pays_to_filter(bits.bits());
    if (filters_) kept_.reserve(images_.images(), stream_);
    if (front_.front.kernel == nullptr) counts_.reserve(images_.images() * count_stride(), stream_);
    if (second_ < plan_.depth()) {
      between_.reserve(images_.images(), row_stride_, stream_);
      duplicates_.reserve(plan_, images_.images(), 1, stream_);
    }
    layout_ =
        cascade::StateLayout(images_.images(), plan_.depth(), duplicates_.zero_bytes(), duplicates_.table_bytes());
    state_.reserve(layout_.bytes, stream_);
    check(cudaMemsetAsync(state_.data(), 0, layout_.bytes, stream_));
    host_state_ = PinnedBuffer<std::byte>(layout_.search_at);
    std::fill_n(host_state_.data(), layout_.search_at, std::byte{0});  // for batches without images
    record();
  }

  /// A run clears the state when it ends.
  void reset() override {}

  Index advance(Index, Index until) override {
    reached_ = until;
    if (until == plan_.depth()) check(cudaGraphLaunch(whole_run_, stream_));
    return until;
  }

  Outcome outcome() override {
    check(cudaStreamSynchronize(stream_));
    Outcome outcome;
    outcome.identical = host_counters().duplicates;
    outcome.categories = categories();
    add_layer_counts(layout_.tallies(host_state_.data()), host_counters().counted, plan_.depth(), outcome);
    return outcome;
  }

  std::vector<double> activations() override {
    SurvivorBuffers last;
    last.reserve(images_.images(), row_stride_, stream_);
    enqueue(reached_, last.view());
    check(cudaStreamSynchronize(stream_));

    const Index width = plan_.layers[reached_ - 1].outputs();
    std::vector<Index> images(host_counters().left);
    std::vector<float> rows(images.size() * width);
    if (!images.empty()) {
      check(cudaMemcpyAsync(images.data(), last.images.data(), images.size() * sizeof(Index), cudaMemcpyDeviceToHost,
                            stream_));
      check(cudaMemcpy2DAsync(rows.data(), width * sizeof(float), last.rows.data(), row_stride_ * sizeof(float),
                              width * sizeof(float), images.size(), cudaMemcpyDeviceToHost, stream_));
      check(cudaStreamSynchronize(stream_));
    }
    std::vector<double> all(std::size_t{images_.images()} * width, 0.0);
    for (const Index image : categories())
      std::fill_n(all.begin() + std::size_t{image} * width, width, plan_.cap.value_or(0.0));
    for (std::size_t i = 0; i < images.size(); ++i)
      std::copy_n(rows.begin() + i * width, width, all.begin() + std::size_t{images[i]} * width);
    for (const auto& [image, owner] : duplicates_.owners(static_cast<Index>(host_counters().listed), stream_))
      std::copy_n(all.begin() + std::size_t{owner} * width, width, all.begin() + std::size_t{image} * width);
    return all;
  }

 private:
  const Counters& host_counters() const { return layout_.counters(host_state_.data()); }
  std::size_t count_stride() const { return std::size_t{32} * program_->counting.neuron_slices; }
  std::vector<Index> categories() const { return images_of(layout_.categories(host_state_.data()), images_.images()); }

  /// The front replaces the first launch if blocks have enough shared memory; its filter needs instructions for numbers
  /// of 16 bits.
  void use_front(const cascade::FrontLaunches& launches, const cudaDeviceProp& device) {
    if (launches.front.shared_bytes > device.sharedMemPerBlockOptin) return;
    for (const cascade::FrontLaunch& launch : {launches.filter, launches.front})
      allow_shared_memory(launch.kernel, launch.shared_bytes, device, launch.blocks);
    front_ = launches;
    if (!program_->filter || device.major < 9) front_.filter.kernel = nullptr;
    second_ = program_->front->layers;
  }

  /// Whether there is a filter that drops more than its own launch costs: teams take several images each, most of which
  /// die.
  bool pays_to_filter(const BitMatrix& images) const {
    return front_.filter.kernel != nullptr && images.rows > blocks_ * front_.teams &&
           even_image_dies(*program_->front, *program_->filter, cascade::lit_share(images));
  }

  /// Counts layer 0's terms that are 1.
  void count() {
    counts_.reserve(images_.images() * count_stride(), stream_);
    CountingArgs counting = program_->counting;
    counting.image_words = images_.words();
    counting.images = images_.images();
    counting.counts = counts_.data();
    const unsigned blocks = blocks_for(counting.images, counting.tile);
    cascade::count_kernel<<<blocks, cascade::kCountThreads, counting.shared_bytes(), stream_>>>(counting);
    check_launch();
  }

  void launch_front(const LaunchArgs& args) {
    cascade::FrontView view = program_->front_view;
    view.bits = reinterpret_cast<const std::uint32_t*>(images_.words());
    const auto begin_with = [&](const cascade::FrontLaunch& launch) {
      launch.kernel<<<launch.blocks * blocks_, launch.threads, launch.shared_bytes, stream_>>>(view, args);
      check_launch();
    };
    if (!filters_) return begin_with(front_.front);
    view.kept = {.images = kept_.data(), .count = &layout_.counters(state_.data()).kept};
    begin_with(front_.filter);
    launch_early(front_.front.kernel, front_.front.threads, front_.front.shared_bytes, view, args);
  }

  void launch(const LaunchArgs& args) {
    if (program_->tail_view && args.first == program_->tail_view->first)
      launch_early(cascade::tail_kernel, cascade::kTailThreads, sizeof(cascade::TailBlock), program_->view,
                   *program_->tail_view, args);
    else
      launch_early(cascade::cascade_kernel, cascade::kThreads, shared_bytes_, program_->view, args);
  }

  /// A kernel that may start while the one before it ends; see cascade::await_previous_kernel().
  template <class... Args>
  void launch_early(void (*kernel)(Args...), Index threads, std::size_t shared_bytes, const Args&... args) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks_;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream_;
    config.attrs = &early;
    config.numAttrs = early_starts_ ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, args...));
  }

  /// Enqueues layers 0 .. until-1; `left` receives the images that are active after them.
  void enqueue(Index until, const Survivors& left) {
    if (images_.images() == 0) return;
    const bool fronted = front_.front.kernel != nullptr && until > second_;
    if (!fronted) count();
    Counters& counters = layout_.counters(state_.data());
    const cascade::RunMemory memory{
        .state = state_.data(),
        .layout = layout_,
        .results = reinterpret_cast<uint4*>(host_state_.data()),
        .counts = counts_.data(),
        .count_stride = count_stride(),
        .between = between_.view(),
        .search = duplicates_.view(state_.data() + layout_.tables_at, state_.data() + layout_.search_at,
                                   &counters.listed, &counters.duplicates)};
    for (const LaunchArgs& args : cascade::launches_of(memory, images_.images(), second_, until, left))
      fronted&& args.first == 0 ? launch_front(args) : launch(args);
  }

  /// A whole run as one graph.
  void record() {
    Graph graph;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue(plan_.depth(), {});
    check(cudaStreamEndCapture(stream_, graph.out()));
    check(cudaGraphInstantiate(whole_run_.out(), graph, 0));
    check(cudaGraphUpload(whole_run_, stream_));
  }

  const std::shared_ptr<const Plan> shared_plan_;
  const Plan& plan_ = *shared_plan_;
  Stream stream_;
  std::optional<cascade::UploadedProgram> program_;
  std::size_t shared_bytes_ = 0;
  unsigned blocks_ = 0;
  bool early_starts_ = false;
  Index row_stride_ = 0;
  cascade::FrontLaunches front_;  ///< without kernels where the plan has no front, or no filter
  bool filters_ = false;          ///< these images
  Index second_ = 0;              ///< the second launch's first layer
  Index reached_ = 0;             ///< layers advanced
  GraphExec whole_run_;
  DeviceImages images_;
  DeviceBuffer<std::uint8_t> counts_;
  DeviceBuffer<Index> kept_;  ///< KeptImages
  SurvivorBuffers between_;
  DuplicateBuffers duplicates_;
  DeviceBuffer<std::byte> state_;
  cascade::StateLayout layout_;
  PinnedBuffer<std::byte> host_state_;
};

}  // namespace

}  // namespace spdnn::cuda

namespace spdnn {

Support support_cascade(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  std::string why_not = reason_not_to_stream(plan, "cascade");
  if (why_not.empty()) why_not = reason_against_cascade(plan);
  if (why_not.empty() && !batch.binary) why_not = "cascade: images of other values than 0 and 1; resident supports any";
  if (why_not.empty()) why_not = reason_not_to_watch(options, "cascade");
  if (why_not.empty() && cuda::cuda_available(nullptr, options.device))
    why_not = cuda::reason_against_device(plan, cuda::device_properties(options.device));
  if (!why_not.empty()) return {.why_not = std::move(why_not)};
  const Index images = batch.images;
  const std::size_t counts = std::size_t{images} * (plan.layers.front().outputs() + std::size_t{32});
  const std::size_t survivors =
      std::size_t{images} * (sizeof(float) * (std::size_t{plan.max_outputs()} + 4) + 2 * sizeof(Index));
  return {.preference = cascade_preference(plan),
          .working_bytes = counts + survivors + cuda::DuplicateBuffers::device_bytes(plan, images, 1) +
                           cuda::DeviceImages::device_bytes(plan, images) + most_cascade_bytes(plan)};
}

std::unique_ptr<Engine> make_cascade(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                     const EngineOptions& options) {
  return std::make_unique<cuda::CascadeEngine>(std::move(plan), options);
}

}  // namespace spdnn
