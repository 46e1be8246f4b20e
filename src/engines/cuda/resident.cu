// resident: a tile of images stays in shared memory through many layers. The kernel, its mapping and its cost are in
// resident_kernel.cuh, the order in which it reads in engines/resident_layout.hpp; here are the engine and its choices.
//
// A run is a handful of launches that the device itself divides into phases; the host waits once, for the outcome.

#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engines/cuda/device.hpp"
#include "engines/cuda/device_buffer.hpp"
#include "engines/cuda/device_images.hpp"
#include "engines/cuda/handle.hpp"
#include "engines/cuda/launch.hpp"
#include "engines/cuda/layer_source.hpp"
#include "engines/cuda/resident.hpp"
#include "engines/cuda/resident_kernel.cuh"
#include "engines/cuda/staging.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

using resident::Batch;
using resident::Control;
using resident::LayerCount;
using resident::LayerInfo;
using resident::Program;
using resident::Turn;

using Kernel = void (*)(Program, Batch, Turn);

struct Instance {
  Kernel uniform;
  Kernel values;
  std::size_t bit_bytes;  ///< of a row of input bits
};

/// X(images, images a thread, threads, rounds, blocks, chunks ahead). First the shapes that a plan's main form is
/// chosen from, the first that fits: several small blocks to a multiprocessor for small networks, then ever fewer
/// images as networks get wider. Then those of the tail form.
#define SPDNN_RESIDENT_SHAPES(X) \
  X(32, 16, 128, 1, 4, 2)        \
  X(32, 16, 256, 1, 2, 2)        \
  X(32, 16, 256, 2, 2, 2)        \
  X(32, 16, 512, 4, 1, 1)        \
  X(16, 8, 512, 8, 1, 1)         \
  X(8, 8, 512, 8, 1, 1)          \
  X(4, 4, 512, 16, 1, 2)         \
  X(2, 2, 512, 32, 1, 3)         \
  X(8, 8, 64, 1, 8, 4)           \
  X(8, 8, 256, 1, 2, 4)          \
  X(16, 8, 512, 4, 1, 2)

constexpr std::array kShapes = {
#define SPDNN_SHAPE(m, v, threads, rounds, blocks, ahead) ResidentShape{{m, v, threads, rounds}, blocks},
    SPDNN_RESIDENT_SHAPES(SPDNN_SHAPE)
#undef SPDNN_SHAPE
};
constexpr std::size_t kMainShapes = 8;

template <Index M, Index V, Index Threads, Index Rounds, Index Blocks, Index Ahead>
constexpr Instance instance() {
  using Uniform = resident::Config<M, V, Threads, Rounds, Blocks, Ahead, false>;
  using Values = resident::Config<M, V, Threads, Rounds, Blocks, Ahead, true>;
  return {resident::resident_kernel<Uniform>, resident::resident_kernel<Values>, sizeof(typename Uniform::Bits)};
}

constexpr std::array kInstances = {
#define SPDNN_INSTANCE(m, v, threads, rounds, blocks, ahead) instance<m, v, threads, rounds, blocks, ahead>(),
    SPDNN_RESIDENT_SHAPES(SPDNN_INSTANCE)
#undef SPDNN_INSTANCE
};

/// Slots beyond those of the layout that reads of four rows at a time may touch.
constexpr Index kSpareSlots = 3;
/// What the driver and the kernel's own variables take of a block's shared memory.
constexpr std::size_t kSharedReserve = 1280;

/// Dynamic shared memory that a block of the shape may have.
std::size_t shared_limit(const ResidentShape& shape, const cudaDeviceProp& device) {
  const std::size_t share = device.sharedMemPerMultiprocessor / shape.blocks;
  return std::min<std::size_t>(share, device.sharedMemPerBlockOptin + kSharedReserve - 256) - kSharedReserve;
}

Index most_slots(const ResidentShape& shape, const cudaDeviceProp& device) {
  const std::size_t row_bytes = shape.tile.images * sizeof(float);
  const std::size_t slots = shared_limit(shape, device) / row_bytes;
  return slots <= kSpareSlots ? 0 : static_cast<Index>(std::min<std::size_t>(slots - kSpareSlots, kNoCopy - 1));
}

bool fits_as(const Plan& plan, std::size_t number, const cudaDeviceProp& device, bool from_bits) {
  const ResidentShape& shape = kShapes[number];
  if (needed_slots(plan, shape.tile, from_bits) > most_slots(shape, device)) return false;
  if (from_bits && (plan.inputs() + std::size_t{1}) * kInstances[number].bit_bytes > shared_limit(shape, device))
    return false;
  if (from_bits && !takes_bits(plan)) return false;
  return std::all_of(plan.layers.begin(), plan.layers.end(),
                     [&](const Layer& layer) { return layer.outputs() <= shape.tile.capacity(); });
}

/// The first shape that fits, if any; with `from_bits` the images are bits.
std::optional<std::size_t> choose_shape(const Plan& plan, const cudaDeviceProp& device, bool from_bits) {
  for (std::size_t number = 0; number < kMainShapes; ++number)
    if (fits_as(plan, number, device, from_bits)) return number;
  return std::nullopt;
}

/// For what few images are left: tiles of fewer images, so that all multiprocessors have work.
std::optional<std::size_t> choose_tail(const Plan& plan, std::size_t main, const cudaDeviceProp& device,
                                       bool from_bits) {
  for (std::size_t number = kMainShapes; number < kShapes.size(); ++number)
    if (kShapes[number].tile.images < kShapes[main].tile.images && fits_as(plan, number, device, from_bits))
      return number;
  return std::nullopt;
}

/// A layout on the device, and how to launch it.
class DeviceProgram {
 public:
  DeviceProgram(const Plan& plan, std::size_t shape, bool from_bits, const cudaDeviceProp& device, cudaStream_t stream)
      : shape_(kShapes[shape]) {
    const ResidentLayout layout = lay_out(plan, shape_.tile, slots_for(plan, device, from_bits), from_bits);
    const std::size_t spare = 4 * std::size_t{layout.chunk_units()};
    stream_ = DeviceBuffer<std::uint32_t>(layout.stream.size() + 4 * spare, stream);
    check(cudaMemsetAsync(stream_.data() + layout.stream.size(), 0, 4 * spare * sizeof(std::uint32_t), stream));
    Staging staging;
    staging.copy(stream_.data(), layout.stream.data(), layout.stream.size() * sizeof(std::uint32_t), stream);
    put(starts_, layout.starts, staging, stream);
    put(chunks_, layout.chunks, staging, stream);
    put(targets_, layout.targets, staging, stream);
    put(biases_, layout.biases, staging, stream);
    put(copies_, layout.copies, staging, stream);
    put(layers_, layer_infos(plan), staging, stream);
    program_ = {reinterpret_cast<const uint4*>(stream_.data()),
                starts_.data(),
                chunks_.data(),
                targets_.data(),
                biases_.data(),
                copies_.data(),
                layers_.data(),
                plan.depth(),
                layout.width,
                layout.zero_slot,
                layout.slots,
                activation_of(plan),
                plan.passes.dead ? plan.dead_from : resident::kNever,
                plan.passes.saturated && plan.cap ? plan.saturated_from : resident::kNever,
                plan.passes.merge};
    shared_bytes_ = std::size_t{layout.slots + kSpareSlots} * shape_.tile.images * sizeof(float);
    if (from_bits)
      shared_bytes_ = std::max(shared_bytes_, (plan.inputs() + std::size_t{1}) * kInstances[shape].bit_bytes);
    kernel_ = layout.values ? kInstances[shape].values : kInstances[shape].uniform;
    check(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_limit(shape_, device))));
    check(
        cudaFuncSetAttribute(kernel_, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, static_cast<int>(shape_.tile.threads),
                                                        shared_bytes_));
    if (blocks == 0) throw DeviceError("the resident kernel does not fit this device");
    grid_ = static_cast<unsigned>(blocks * device.multiProcessorCount);
    reads_ = layout.reads;
  }

  const TileShape& tile() const { return shape_.tile; }
  /// Reads of an image's activations in the layers up to `layer`, as the blocks do them.
  Offset reads(Index layer) const { return reads_[layer]; }

  void launch(const Batch& batch, const Turn& turn, cudaStream_t stream) const {
    kernel_<<<grid_, shape_.tile.threads, shared_bytes_, stream>>>(program_, batch, turn);
    check_launch();
  }

 private:
  /// A second slot for every neuron where rows are shorter than what shared memory delivers at a time.
  Index slots_for(const Plan& plan, const cudaDeviceProp& device, bool from_bits) const {
    const Index needed = needed_slots(plan, shape_.tile, from_bits);
    const Index colours = shape_.tile.colours();
    if (colours == 1) return needed;
    return std::min(most_slots(shape_, device), 2 * (needed + colours));
  }

  static std::vector<LayerInfo> layer_infos(const Plan& plan) {
    std::vector<LayerInfo> infos;
    for (Index k = 0; k < plan.depth(); ++k) {
      const Layer& layer = plan.layers[k];
      const bool plain = activation_of(plan).everywhere || layer.bias.max() <= 0;
      infos.push_back({layer.inputs(), layer.outputs(), layer.weights.value, static_cast<float>(layer.bias.uniform),
                       plan.error_bounds.empty() ? 0.0F : static_cast<float>(plan.error_bounds[k]), plain});
    }
    return infos;
  }

  template <class T>
  static void put(DeviceBuffer<T>& to, const std::vector<T>& from, Staging& staging, cudaStream_t stream) {
    to = DeviceBuffer<T>(from.size(), stream);
    staging.copy(to.data(), from.data(), from.size() * sizeof(T), stream);
  }

  ResidentShape shape_;
  DeviceBuffer<std::uint32_t> stream_;
  DeviceBuffer<Offset> starts_;
  DeviceBuffer<std::uint16_t> chunks_;
  DeviceBuffer<std::uint32_t> targets_;
  DeviceBuffer<float> biases_;
  DeviceBuffer<std::uint16_t> copies_;
  DeviceBuffer<LayerInfo> layers_;
  Program program_{};
  Kernel kernel_ = nullptr;
  std::size_t shared_bytes_ = 0;
  unsigned grid_ = 0;
  std::vector<Offset> reads_;
};

UsageError too_wide(const Plan& plan, const std::string& what) {
  return UsageError("resident: " + what + " of " + std::to_string(plan.max_width()) +
                    " neurons does not fit shared memory; spmm_rows takes any");
}

/// Row lengths are whole 16-byte units.
Index row_stride(const Plan& plan) {
  Index width = 0;
  for (const Layer& layer : plan.layers) width = std::max(width, layer.outputs());
  return (width + 3) / 4 * 4;
}

class ResidentEngine final : public Engine {
 public:
  ResidentEngine(Plan plan, const EngineOptions& options, std::optional<std::size_t> shape)
      : plan_(std::move(plan)), device_(options.device), forced_shape_(shape), stream_(stream_on(options)) {
    if (plan_.depth() == 0) throw UsageError("resident: a network without layers");
    if (!pick(true) && !pick(false)) throw too_wide(plan_, "a layer");
    const cudaDeviceProp& device = device_properties(device_);
    int clock_khz = 0;
    check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device_));
    shared_rate_ = 128.0 * device.multiProcessorCount * 1e3 * clock_khz;
    prepare(pick(true).has_value());
  }
  ~ResidentEngine() override { cudaStreamSynchronize(stream_); }

  void load(const ImageSet& images) override {
    const bool bits = images.is_bits() && pick(true);
    if (bits != from_bits_) prepare(bits);
    images_.load(images.is_bits() && !bits ? ImageSet{images.to_csr()} : images, stream_);
    const Index smallest = tail_ ? tail_->tile().images : main_->tile().images;
    const std::size_t tiles = std::size_t{images_.images()} / smallest + 1;
    const std::size_t words = (std::size_t{images_.images()} + 31) / 32;
    const std::size_t rows = (std::size_t{images_.images()} + kWarp) * row_stride(plan_);
    for (DeviceBuffer<float>& buffer : rows_) buffer.reserve(rows, stream_);
    for (DeviceBuffer<Index>& buffer : ids_) buffer.reserve(images_.images(), stream_);
    // Control and results behind one another, so that one copy starts a trial and one ends it.
    layout_ = {};
    layout_.counts = sizeof(Control) + sizeof(Control) % 8;
    layout_.categories = layout_.counts + plan_.depth() * sizeof(LayerCount);
    layout_.borderline = layout_.categories + words * sizeof(std::uint32_t);
    layout_.result_bytes = layout_.borderline + words * sizeof(std::uint32_t);
    layout_.progress = layout_.result_bytes;
    layout_.settled = layout_.progress + tiles * sizeof(Index);
    layout_.bytes = layout_.settled + tiles * sizeof(std::uint32_t);
    state_.reserve(layout_.bytes, stream_);
    host_state_ = PinnedBuffer<std::byte>(layout_.bytes);
    start_state_ = PinnedBuffer<std::byte>(layout_.bytes);
    std::fill_n(start_state_.data(), layout_.bytes, std::byte{0});
    Control& start = *reinterpret_cast<Control*>(start_state_.data());
    start.images = images_.images();
    start.epoch = 1;
    choose_least_phase();
    record();
    reset();
  }

  void reset() override {
    check(cudaMemcpyAsync(state_.data(), start_state_.data(), layout_.bytes, cudaMemcpyHostToDevice, stream_));
  }

  Index advance(Index first, Index until) override {
    if (first == 0 && until == plan_.depth())
      check(cudaGraphLaunch(whole_run_, stream_));
    else
      enqueue(first, until);
    return until;
  }

  Outcome outcome() override {
    check(cudaStreamSynchronize(stream_));
    Outcome outcome;
    if (plan_.passes.identical) outcome.identical = -1;
    outcome.categories = images_of(layout_.categories);
    outcome.borderline = images_of(layout_.borderline);
    const auto* counts = reinterpret_cast<const LayerCount*>(host_state_.data() + layout_.counts);
    for (Index k = 0; k < plan_.depth(); ++k) {
      outcome.alive.push_back(outcome.saturated + static_cast<std::int64_t>(counts[k].live));
      outcome.saturated += static_cast<std::int64_t>(counts[k].saturated);
    }
    return outcome;
  }

  std::vector<double> activations() override {
    copy_results();
    const Outcome settled = outcome();
    const Control& control = *reinterpret_cast<const Control*>(host_state_.data());
    const Index width = plan_.layers[std::max(control.layer, 1U) - 1].outputs();
    std::vector<double> all(std::size_t{images_.images()} * width, 0.0);
    if (plan_.cap)
      for (const Index image : settled.categories)
        std::fill_n(all.begin() + std::size_t{image} * width, width, *plan_.cap);
    std::vector<Index> ids(control.images);
    std::vector<float> rows(std::size_t{control.images} * row_stride(plan_));
    copy_back(ids, ids_[control.side]);
    copy_back(rows, rows_[control.side]);
    for (Index row = 0; row < control.images; ++row)
      std::copy_n(rows.begin() + std::size_t{row} * row_stride(plan_), width,
                  all.begin() + std::size_t{ids[row]} * width);
    return all;
  }

 private:
  struct StateLayout {  ///< offsets in bytes
    std::size_t counts = 0, categories = 0, borderline = 0, result_bytes = 0, progress = 0, settled = 0, bytes = 0;
  };

  std::optional<std::size_t> pick(bool from_bits) const {
    const cudaDeviceProp& device = device_properties(device_);
    if (!forced_shape_) return choose_shape(plan_, device, from_bits);
    return fits_as(plan_, *forced_shape_, device, from_bits) ? forced_shape_ : std::nullopt;
  }

  /// Phases are so long that the work of one with all images would outlast what its launch and the moving of rows
  /// cost.
  void choose_least_phase() {
    constexpr double kPhaseSeconds = 6e-6;
    const double bytes = 4.0 * images_.images();
    least_layers_ = 1;
    while (least_layers_ < std::min(plan_.depth(), 16U) &&
           bytes * static_cast<double>(main_->reads(least_layers_)) < kPhaseSeconds * shared_rate_)
      ++least_layers_;
  }

  /// As many launches as the device may want phases; those that it does not want return at once.
  void enqueue(Index first, Index until) {
    const Batch batch = batch_view();
    Turn turn{until, 0, std::numeric_limits<Index>::max(), least_layers_};
    Turn tail_turn = turn;
    if (tail_) {
      tail_turn.most_images = tail_images_;
      turn.least_images = tail_images_ + 1;
    }
    for (Index layer = first; layer < until; layer += resident::shortest_phase(layer, least_layers_)) {
      main_->launch(batch, turn, stream_);
      if (tail_) tail_->launch(batch, tail_turn, stream_);
    }
    if (until == plan_.depth()) copy_results();
  }

  void copy_results() {
    check(cudaMemcpyAsync(host_state_.data(), state_.data(), layout_.result_bytes, cudaMemcpyDeviceToHost, stream_));
  }

  /// A whole run as one graph.
  void record() {
    Graph graph;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue(0, plan_.depth());
    check(cudaStreamEndCapture(stream_, graph.out()));
    check(cudaGraphInstantiate(whole_run_.out(), graph, 0));
    check(cudaGraphUpload(whole_run_, stream_));
  }

  void prepare(bool from_bits) {
    const std::optional<std::size_t> shape = pick(from_bits);
    if (!shape) throw too_wide(plan_, "a layer, or the images, which are not bits,");
    const cudaDeviceProp& device = device_properties(device_);
    tail_.reset();
    main_.reset();
    main_.emplace(plan_, *shape, from_bits, device, stream_);
    from_bits_ = from_bits;
    const auto tail = forced_shape_ ? std::nullopt : choose_tail(plan_, *shape, device, from_bits);
    if (!tail) return;
    tail_.emplace(plan_, *tail, from_bits, device, stream_);
    // Where a fourth of the multiprocessors would have no tile of the main form.
    tail_images_ = static_cast<Index>(device.multiProcessorCount) * main_->tile().images * 3 / 4;
  }

  Batch batch_view() const {
    Batch batch{};
    batch.control = reinterpret_cast<Control*>(state_.data());
    batch.counts = reinterpret_cast<LayerCount*>(state_.data() + layout_.counts);
    batch.categories = reinterpret_cast<std::uint32_t*>(state_.data() + layout_.categories);
    batch.borderline = reinterpret_cast<std::uint32_t*>(state_.data() + layout_.borderline);
    batch.progress = reinterpret_cast<Index*>(state_.data() + layout_.progress);
    batch.settled = reinterpret_cast<std::uint32_t*>(state_.data() + layout_.settled);
    for (std::size_t side = 0; side < 2; ++side) {
      batch.rows[side] = rows_[side].data();
      batch.ids[side] = ids_[side].data();
    }
    batch.stride = row_stride(plan_);
    batch.bits = reinterpret_cast<const std::uint32_t*>(images_.words());
    batch.words = 2 * images_.words_per_row();
    batch.offsets = images_.offsets();
    batch.indices = images_.indices();
    batch.values = images_.values();
    batch.value = images_.value();
    return batch;
  }

  std::vector<Index> images_of(std::size_t offset) const {
    const auto* words = reinterpret_cast<const std::uint32_t*>(host_state_.data() + offset);
    std::vector<Index> images;
    for (Index first = 0; first < images_.images(); first += 32)
      for (std::uint32_t word = words[first / 32]; word != 0; word &= word - 1)
        images.push_back(first + static_cast<Index>(__builtin_ctz(word)));
    return images;
  }

  template <class T>
  void copy_back(std::vector<T>& to, const DeviceBuffer<T>& from) const {
    if (to.empty()) return;
    check(cudaMemcpyAsync(to.data(), from.data(), to.size() * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
  }

  const Plan plan_;
  int device_;
  std::optional<std::size_t> forced_shape_;
  Stream stream_;
  bool from_bits_ = false;
  std::optional<DeviceProgram> main_;
  std::optional<DeviceProgram> tail_;
  Index tail_images_ = 0;  ///< the tail form runs when no more are left
  Index least_layers_ = 1;
  double shared_rate_ = 0;  ///< bytes per second of all shared memories
  GraphExec whole_run_;
  DeviceImages images_;
  DeviceBuffer<float> rows_[2];
  DeviceBuffer<Index> ids_[2];
  DeviceBuffer<std::byte> state_;
  StateLayout layout_;
  PinnedBuffer<std::byte> start_state_;  ///< what a trial begins with
  PinnedBuffer<std::byte> host_state_;
};

}  // namespace

std::span<const ResidentShape> resident_shapes() { return kShapes; }

bool fits(const Plan& plan, std::size_t shape, const EngineOptions& options) {
  const cudaDeviceProp& device = device_properties(options.device);
  return fits_as(plan, shape, device, true) || fits_as(plan, shape, device, false);
}

std::unique_ptr<Engine> make_resident(const Plan& plan, const EngineOptions& options, std::size_t shape) {
  return std::make_unique<ResidentEngine>(plan, options, shape);
}

}  // namespace spdnn::cuda

namespace spdnn {

std::unique_ptr<Engine> make_resident(const Plan& plan, const EngineOptions& options) {
  return std::make_unique<cuda::ResidentEngine>(plan, options, std::nullopt);
}

std::size_t working_bytes_resident(const Plan& plan, const EngineOptions& options, Index images) {
  if (cuda::cuda_available(nullptr, options.device)) {
    const cudaDeviceProp& device = cuda::device_properties(options.device);
    if (!cuda::choose_shape(plan, device, true) && !cuda::choose_shape(plan, device, false))
      throw cuda::too_wide(plan, "a layer");
  }
  // Rows twice; the layout of the plan: at most twice its terms, two bytes a term, six with values.
  const std::size_t rows = 2 * (std::size_t{images} + 32) * (cuda::row_stride(plan) * sizeof(float) + sizeof(Index));
  const bool values =
      std::any_of(plan.layers.begin(), plan.layers.end(), [](const Layer& layer) { return !layer.weights.uniform(); });
  const std::size_t widths = std::size_t{plan.depth()} * plan.max_width();
  return rows + 2 * plan.edges() * (values ? 6 : 2) + 16 * widths + images;
}

}  // namespace spdnn
