// cascade: narrow plans, images that settle early. The kernels, their mapping and their cost are in
// count.cuh and kernel.cuh; here is the engine. A run that stops before the last layer begins from the
// inputs again: only activations() asks for one.

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/cuda/cascade/count.cuh"
#include "engines/cuda/cascade/kernel.cuh"
#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/retire/offered_duplicates.hpp"
#include "engines/cuda/retire/outcome.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/runtime/staging.hpp"
#include "engines/overflow.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

using cascade::cascade_kernel;
using cascade::count_kernel;
using cascade::CountingArgs;
using cascade::LaunchArgs;
using cascade::LayerTally;
using cascade::ProgramView;
using cascade::Survivors;

/// Floats of a region, unless one column takes more: enough for barriers to cost little, and several fit a block.
constexpr Index kRegionFloats = 8192;
constexpr Index kFewestRegions = 2;  ///< one of them is free
static_assert(std::max(kRegionFloats, kCascadeWidth) <= 16 * cascade::kThreads, "load_counts() takes a region at once");
/// Shared memory of a counting block where it can be chosen: as many blocks to a multiprocessor as threads allow.
constexpr std::size_t kCountingBytes = std::size_t{27} << 10U;

/// Layers that the first launch runs at least: few images are left behind so many in the official networks.
constexpr Index kFirstLayers = 6;

/// How the shared memory of a block is divided for rows of up to `width` neurons; `regions` is 0 where it does not fit.
struct Division {
  Index columns = 0;
  Index regions = 0;
  Index region_floats = 0;

  std::size_t bytes() const { return sizeof(cascade::Shared) + std::size_t{regions} * region_floats * sizeof(float); }
};

Division divide(Index width, const cudaDeviceProp& device) {
  const std::size_t limit = device.sharedMemPerBlockOptin - sizeof(cascade::Shared);
  width = std::max(width, Index{1});
  for (Index columns = std::min(cascade::kMostColumns, std::bit_floor(std::max(kRegionFloats / width, Index{1})));
       columns > 0; columns /= 2) {
    Division division{columns, 0, columns * ((width + 3) / 4 * 4)};
    const Index most = std::min(cascade::kMostRegions, 1 + cascade::kSlots / columns);
    division.regions =
        static_cast<Index>(std::min<std::size_t>(most, limit / (division.region_floats * sizeof(float))));
    if (division.regions >= kFewestRegions) return division;
  }
  return {};
}

/// Images of a counting block, or 0 where not even the fewest fit.
Index counting_tile(CountingArgs counting, const cudaDeviceProp& device) {
  for (counting.tile = 128; counting.tile > 0; counting.tile /= 2) {
    const std::size_t limit = counting.tile > 1 ? kCountingBytes : device.sharedMemPerBlockOptin;
    if (counting.shared_bytes() <= limit) return counting.tile;
  }
  return 0;
}

/// Room for all images of a batch.
struct SurvivorBuffers {
  DeviceBuffer<float> rows;
  DeviceBuffer<Index> images;
  Index stride = 0;

  void reserve(Index count, Index row_stride, cudaStream_t stream) {
    stride = row_stride;
    rows.reserve(std::size_t{count} * row_stride, stream);
    images.reserve(count, stream);
  }
  Survivors view(Index& count) const { return {rows.data(), stride, images.data(), &count}; }
};

/// A compiled plan on the device.
struct UploadedProgram {
  DeviceBuffer<Index> input_starts, input_values, class_starts, class_values, words, runs;
  DeviceBuffer<float> sums;
  DeviceBuffer<CascadeLayer> layers;
  DeviceBuffer<std::uint32_t> terms;
  DeviceBuffer<Index> degrees;
  DeviceBuffer<float> biases;
  ProgramView program{};
  CountingArgs counting{};

  UploadedProgram(const CascadeProgram& from, const Plan& plan, const Division& division, cudaStream_t stream) {
    Staging staging;
    staging.upload(input_starts, from.first.inputs.starts, stream);
    staging.upload(input_values, from.first.inputs.values, stream);
    staging.upload(class_starts, from.first.classes.starts, stream);
    staging.upload(class_values, from.first.classes.values, stream);
    staging.upload(words, from.first.words, stream);
    staging.upload(runs, from.first.runs, stream);
    staging.upload(sums, from.first.sums, stream);
    staging.upload(layers, from.layers, stream);
    staging.upload(terms, from.terms, stream);
    staging.upload(degrees, from.degrees, stream);
    staging.upload(biases, from.biases, stream);
    program = {layers.data(),
               reinterpret_cast<const uint4*>(terms.data()),
               degrees.data(),
               biases.data(),
               sums.data(),
               narrow<Index>(from.first.sums.size()),
               plan.depth(),
               plan.passes.dead ? plan.certificates.dead_from : cascade::kNoLayer,
               plan.passes.saturated && plan.cap ? plan.certificates.saturated_from : cascade::kNoLayer,
               activation_of(plan),
               division.columns,
               division.regions,
               division.region_floats,
               from.tabled ? Index{1} : Index{0}};
    counting = counting_of(from.first, plan);
    counting.input_starts = input_starts.data();
    counting.input_values = input_values.data();
    counting.class_starts = class_starts.data();
    counting.class_values = class_values.data();
    counting.runs = runs.data();
    counting.words = from.first.words.empty() ? nullptr : words.data();
  }

  /// Without its pointers.
  static CountingArgs counting_of(const CountedLayer& first, const Plan& plan) {
    CountingArgs counting{};
    counting.class_slices = first.inputs.slices();
    counting.neuron_slices = first.classes.slices();
    counting.words_per_class = first.words.empty() ? 0 : narrow<Index>(first.words.size() / first.inputs.slices());
    const Index quads = 8 * counting.neuron_slices;
    counting.runs_per_neuron = quads == 0 ? 0 : narrow<Index>(first.runs.size() / quads);
    counting.image_pairs = (plan.inputs() + 63) / 64;
    return counting;
  }
};

Division division_for(const Plan& plan, const cudaDeviceProp& device) {
  const Index width = plan.max_outputs();
  const Division division = divide(width, device);
  if (division.regions == 0)
    throw UsageError("cascade: a layer of " + std::to_string(width) +
                     " neurons does not fit this device's shared memory; spmm_rows takes any");
  return division;
}

class CascadeEngine final : public Engine {
 public:
  CascadeEngine(Plan plan, const EngineOptions& options) : plan_(std::move(plan)), stream_(stream_on(options)) {
    require_no_overflow(options, "cascade");
    const CascadeProgram compiled = compile_cascade(plan_);
    const cudaDeviceProp& device = device_properties(options.device);
    const Division division = division_for(plan_, device);
    shared_bytes_ = division.bytes();
    blocks_ = static_cast<unsigned>(device.multiProcessorCount);
    early_starts_ = device.major >= 9;
    row_stride_ = (compiled.width + 3) / 4 * 4;
    second_ = 1;
    while (second_ < plan_.depth() && (second_ < kFirstLayers || compiled.layers[second_].pairs > 0)) ++second_;
    program_.emplace(compiled, plan_, division, stream_);
    program_->counting.tile = counting_tile(program_->counting, device);
    if (program_->counting.tile == 0)
      throw UsageError("cascade: images of " + std::to_string(plan_.inputs()) +
                       " neurons do not fit this device's shared memory; spmm_rows takes any");
    const auto allow = [&](auto kernel, std::size_t bytes) {  // of all engines of the process; the carve-out is a hint
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(device.sharedMemPerBlockOptin)));
      const std::size_t all = device.sharedMemPerMultiprocessor;
      const std::size_t needed = std::min(all, bytes + device.reservedSharedMemPerBlock);
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 static_cast<int>((100 * needed + all - 1) / all)));
    };
    allow(cascade_kernel, shared_bytes_);  // the rest is L1, for terms
    allow(count_kernel, device.sharedMemPerMultiprocessor);
  }
  ~CascadeEngine() override { cudaStreamSynchronize(stream_); }

  void load(const ImageSet& images) override {
    images_.load(images.is_bits() ? images : ImageSet{as_bits(images)}, stream_);
    counts_.reserve(std::size_t{images_.images()} * 32 * program_->counting.neuron_slices, stream_);
    if (second_ < plan_.depth()) {
      between_.reserve(images_.images(), row_stride_, stream_);
      duplicates_.reserve(plan_, images_.images(), 1, stream_);
    }
    const std::size_t words = (std::size_t{images_.images()} + 31) / 32;
    layout_.by_layer = layout_.categories + words * sizeof(std::uint32_t);
    const std::size_t result_bytes = layout_.by_layer + plan_.depth() * sizeof(LayerTally);
    layout_.search = (result_bytes + sizeof(uint4) - 1) / sizeof(uint4) * sizeof(uint4);
    layout_.bytes = layout_.search + duplicates_.cleared_bytes();
    state_.reserve(layout_.bytes, stream_);
    host_state_ = PinnedBuffer<std::byte>(layout_.search);
    std::fill_n(host_state_.data(), layout_.search, std::byte{0});  // for batches without images
    record();
  }

  /// A run begins with clearing what it counts in.
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
    add_layer_counts(reinterpret_cast<const LayerTally*>(host_state_.data() + layout_.by_layer),
                     host_counters().counted, plan_.depth(), outcome);
    return outcome;
  }

  std::vector<double> activations() override {
    SurvivorBuffers last;
    last.reserve(images_.images(), row_stride_, stream_);
    enqueue(reached_, last.view(counters()->left));

    std::vector<float> rows(last.rows.size());
    std::vector<Index> images(images_.images());
    check(cudaMemcpyAsync(rows.data(), last.rows.data(), last.rows.bytes(), cudaMemcpyDeviceToHost, stream_));
    check(cudaMemcpyAsync(images.data(), last.images.data(), last.images.bytes(), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    const Index width = plan_.layers[reached_ - 1].outputs();
    std::vector<double> all(std::size_t{images_.images()} * width, 0.0);
    for (const Index image : categories())
      std::fill_n(all.begin() + std::size_t{image} * width, width, plan_.cap.value_or(0.0));
    images.resize(host_counters().left);
    for (std::size_t i = 0; i < images.size(); ++i)
      std::copy_n(rows.begin() + i * row_stride_, width, all.begin() + std::size_t{images[i]} * width);
    duplicates_.fill(static_cast<Index>(host_counters().listed), width, all, stream_);
    return all;
  }

 private:
  /// What the state begins with.
  struct Counters {
    Index next[2];  ///< LaunchArgs::next, by launch
    Index between;  ///< survivors of the first launch
    Index left;     ///< of the last one
    Index counted;  ///< LaunchArgs::counted
    unsigned long long
        listed;        ///< DuplicateSearch::listed; in the higher half, blocks of the last launch that are done
    Index duplicates;  ///< DuplicateSearch::duplicates
  };
  struct StateLayout {  ///< in bytes; the counters are first, and what is before `search` is for the host
    std::size_t categories = sizeof(Counters), by_layer = 0, search = 0, bytes = 0;
  };

  static BitMatrix as_bits(const ImageSet& images) {
    const CsrMatrix& sparse = images.sparse();
    const auto is_one = [](float value) { return value == 1.0F; };
    if (sparse.uniform() ? !is_one(sparse.value) : !std::all_of(sparse.values.begin(), sparse.values.end(), is_one))
      throw UsageError("cascade: images of other values than 0 and 1; resident takes any");
    return images.to_bits();
  }

  Counters* counters() const { return reinterpret_cast<Counters*>(state_.data()); }
  const Counters& host_counters() const { return *reinterpret_cast<const Counters*>(host_state_.data()); }

  /// May start while the kernel before it ends; see cascade::await_previous_kernel().
  void launch(const LaunchArgs& args) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks_;
    config.blockDim = cascade::kThreads;
    config.dynamicSmemBytes = shared_bytes_;
    config.stream = stream_;
    config.attrs = &early;
    config.numAttrs = early_starts_ ? 1 : 0;
    check(cudaLaunchKernelEx(&config, cascade_kernel, program_->program, args));
  }

  void launch_first(LaunchArgs args) {
    CountingArgs counting = program_->counting;
    counting.image_words = images_.words();
    counting.images = images_.images();
    counting.counts = counts_.data();
    counting.state = reinterpret_cast<std::uint32_t*>(state_.data());
    counting.state_words = narrow<Index>(layout_.bytes / sizeof(std::uint32_t));
    count_kernel<<<blocks_for(args.images, counting.tile), cascade::kCountThreads, counting.shared_bytes(), stream_>>>(
        counting);
    check_launch();
    args.counts = counts_.data();
    args.stride = std::size_t{32} * counting.neuron_slices;
    args.next = &counters()->next[0];
    launch(args);
  }

  /// Layers below `until`; `left` receives who is unsettled then.
  void enqueue(Index until, const Survivors& left) {
    LaunchArgs args{};
    args.images = images_.images();
    args.by_layer = reinterpret_cast<LayerTally*>(state_.data() + layout_.by_layer);
    args.counted = &counters()->counted;
    args.categories = reinterpret_cast<std::uint32_t*>(state_.data() + layout_.categories);
    args.until = std::min(until, second_);
    args.out = until > second_ ? between_.view(counters()->between) : left;
    args.search = duplicates_.view(state_.data() + layout_.search, &counters()->listed, &counters()->duplicates);
    Ending* const endings = std::exchange(args.search.endings, nullptr);  // what is settled first has no copies
    const cascade::Results results{reinterpret_cast<uint4*>(host_state_.data()),
                                   reinterpret_cast<const uint4*>(state_.data()), narrow<Index>(layout_.by_layer),
                                   args.counted, &counters()->listed};
    if (until <= second_) args.results = results;
    if (args.images > 0) launch_first(args);
    if (args.images > 0 && until > second_) {
      args.results = results;
      args.search.endings = endings;
      args.in = std::exchange(args.out, left);
      args.first = second_;
      args.until = until;
      args.next = &counters()->next[1];
      launch(args);
    }
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

  std::vector<Index> categories() const {
    return images_of(reinterpret_cast<const std::uint32_t*>(host_state_.data() + layout_.categories), images_.images());
  }

  const Plan plan_;
  Stream stream_;
  std::optional<UploadedProgram> program_;
  std::size_t shared_bytes_ = 0;
  unsigned blocks_ = 0;
  bool early_starts_ = false;
  Index row_stride_ = 0;
  Index second_ = 0;   ///< the second launch's first layer
  Index reached_ = 0;  ///< layers advanced
  GraphExec whole_run_;
  DeviceImages images_;
  DeviceBuffer<std::uint8_t> counts_;
  SurvivorBuffers between_;
  DuplicateBuffers duplicates_;
  DeviceBuffer<std::byte> state_;
  StateLayout layout_;
  PinnedBuffer<std::byte> host_state_;
};

}  // namespace

}  // namespace spdnn::cuda

namespace spdnn {

std::unique_ptr<Engine> make_cascade(const Plan& plan, const EngineOptions& options) {
  return std::make_unique<cuda::CascadeEngine>(plan, options);
}

std::size_t working_bytes_cascade(const Plan& plan, const EngineOptions& options, Index images) {
  check_cascade(plan);
  require_no_overflow(options, "cascade");
  if (cuda::cuda_available(nullptr, options.device))
    (void)cuda::division_for(plan, cuda::device_properties(options.device));
  const std::size_t counts = std::size_t{images} * (plan.layers.front().outputs() + std::size_t{32});
  const std::size_t survivors =
      std::size_t{images} * (sizeof(float) * (std::size_t{plan.max_outputs()} + 4) + sizeof(Index));
  return counts + survivors + cuda::DuplicateBuffers::device_bytes(plan, images, 1) +
         cuda::DeviceImages::device_bytes(plan, images) + most_cascade_bytes(plan);
}

}  // namespace spdnn
