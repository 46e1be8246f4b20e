// resident: a tile of images stays in shared memory through many layers. The kernel, its mapping and its cost are in
// kernel.cuh, the order in which it reads is in layout.hpp; here are the engine and its choices.
//
// A run is a handful of launches that the device itself divides into phases. The host waits once, for the outcome.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/types/counted_csr.hpp"
#include "engines/cuda/layers/half.hpp"
#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/resident/device_layout.cuh"
#include "engines/cuda/resident/engine.hpp"
#include "engines/cuda/resident/run_state.hpp"
#include "engines/cuda/retire/image_rows.hpp"
#include "engines/cuda/retire/offered_duplicates.hpp"
#include "engines/cuda/retire/outcome.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/overflow.hpp"
#include "engines/streamed.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

using resident::BatchView;
using resident::DeviceLayout;
using resident::Instance;
using resident::LaunchWindow;
using resident::row_stride;
using resident::Shapes;

std::string too_wide(const Plan& plan, const std::string& what) {
  return "resident: " + what + " of " + std::to_string(plan.max_width()) +
         " neurons does not fit shared memory; spmm_rows supports any";
}

class ResidentEngine final : public InspectableEngine {
 public:
  /// `forced`: the shape to use; null: the first that fits.
  ResidentEngine(std::shared_ptr<const Plan> plan, const BatchInfo& batch, const EngineOptions& options,
                 const Instance* forced)
      : shared_plan_(std::move(plan)), options_(options), forced_(forced), stream_(stream_on(options)) {
    const cudaDeviceProp& device = device_properties(options_.device);
    int clock_khz = 0;
    check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, options_.device));
    shared_rate_ = 128.0 * device.multiProcessorCount * 1e3 * clock_khz;
    from_bits_ = batch.bits && pick(true) != nullptr;
    prepare();
  }
  ~ResidentEngine() override { cudaStreamSynchronize(stream_); }

  void load(const ImageSet& images) override {
    if (options_.precision == Precision::fp16) require_halves(images, "resident");
    if (images.is_bits() == from_bits_)
      images_.load(images, stream_);
    else
      images_.load(from_bits_ ? ImageSet{images.to_bits()} : ImageSet{images.to_csr()}, stream_);
    const Index smallest = small_ ? small_->tile().images : large_->tile().images;
    const std::size_t tiles = std::size_t{images_.images()} / smallest + 1;
    const std::size_t rows = (std::size_t{images_.images()} + kWarp) * row_stride(plan_);
    for (DeviceBuffer<float>& buffer : rows_) buffer.reserve(rows, stream_);
    for (DeviceBuffer<Index>& buffer : ids_) buffer.reserve(images_.images(), stream_);
    state_.reserve(images_.images(), tiles, plan_.depth(), stream_);
    duplicates_.reserve(plan_, images_.images(), 2, stream_);
    search_.reserve(search_bytes(), stream_);
    choose_least_phase();
    record();
    reset();
  }

  void reset() override {
    if (search_bytes() > 0) check(cudaMemsetAsync(search_.data(), 0, search_bytes(), stream_));
    state_.begin(stream_);
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
    outcome.identical = state_.control().duplicates;
    outcome.categories = state_.categories();
    outcome.borderline = state_.borderline();
    add_layer_counts(state_.counts(), plan_.depth(), plan_.depth(), outcome);
    // With `merge` an image counts as alive while it may be, which may differ from the given order's result.
    if (plan_.passes.merge) outcome.alive.clear();
    return outcome;
  }

  std::vector<double> activations() override {
    const ImageRows rows = image_rows();
    const std::shared_ptr<float[]> active = fetch(rows);
    std::vector<double> all(std::size_t{rows.images()} * rows.width(), 0.0);
    for (Index image = 0; image < rows.images(); ++image)
      rows.copy(image, active.get(), all.data() + std::size_t{image} * rows.width());
    return all;
  }

  std::optional<CsrMatrix> sparse_activations(std::size_t most) override {
    const ImageRows rows = image_rows();
    if (rows.bytes() > most) throw std::bad_alloc();
    return rows.csr(fetch(rows).get(), most - rows.bytes());
  }

  std::unique_ptr<ActivationsCopy> copy_activations() override {
    const ImageRows rows = image_rows();
    return copy_rows(rows, options_, stream_, [&](float* to) {
      check(cudaMemcpyAsync(to, rows_[state_.control().side].data(), rows.bytes(), cudaMemcpyDeviceToDevice, stream_));
    });
  }

 private:
  /// Waits: of the activations after the last layer.
  ImageRows image_rows() {
    state_.fetch(stream_);
    const Outcome retired = outcome();
    const resident::Control& control = state_.control();
    std::vector<Index> of_image(images_.images(), ImageRows::kZeros);
    if (plan_.cap)
      for (const Index image : retired.categories) of_image[image] = ImageRows::kAtCap;
    std::vector<Index> ids(control.images);
    copy_back(ids.data(), ids_[control.side], ids.size());
    for (std::size_t row = 0; row < ids.size(); ++row) of_image[ids[row]] = static_cast<Index>(row);
    for (const auto& [image, owner] : duplicates_.owners(static_cast<Index>(control.listed), stream_))
      of_image[image] = of_image[owner];
    const Index width = plan_.layers[std::max(control.layer, 1U) - 1].outputs();
    return {width, row_stride(plan_), static_cast<Index>(control.images), static_cast<float>(plan_.cap.value_or(0)),
            std::move(of_image)};
  }
  std::shared_ptr<float[]> fetch(const ImageRows& rows) const {
    std::shared_ptr<float[]> active = allocate<float>(rows.floats());
    copy_back(active.get(), rows_[state_.control().side], rows.floats());
    return active;
  }

  /// The memory of the pass `identical` that is cleared before each run.
  std::size_t search_bytes() const { return duplicates_.table_bytes() + duplicates_.zero_bytes(); }

  const Instance* pick(bool from_bits) const {
    const cudaDeviceProp& device = device_properties(options_.device);
    if (forced_ == nullptr)
      return choose_large_tiles(plan_, resident::shapes_for(options_.precision), device, from_bits);
    return fits_as(plan_, *forced_, device, from_bits) ? forced_ : nullptr;
  }

  /// The minimum length of a phase: with all images, its work takes longer than its launch and moving the rows.
  void choose_least_phase() {
    constexpr double kPhaseSeconds = 6e-6;
    least_layers_ = 1;
    while (least_layers_ < std::min(plan_.depth(), 16U) &&
           images_.images() * large_->read_bytes(least_layers_) < kPhaseSeconds * shared_rate_)
      ++least_layers_;
  }

  /// As many launches as there may be phases; superfluous ones return immediately.
  void enqueue(Index first, Index until) {
    const BatchView batch = batch_view();
    LaunchWindow window{.until = until, .least_layers = least_layers_};
    LaunchWindow small_window = window;
    if (small_) {
      small_window.most_images = small_tile_images_;
      window.least_images = small_tile_images_ + 1;
    }
    for (Index layer = first; layer < until; layer += resident::shortest_phase(layer, least_layers_)) {
      large_->launch(batch, window, stream_);
      if (small_) small_->launch(batch, small_window, stream_);
    }
    if (until == plan_.depth()) state_.fetch(stream_);
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

  void prepare() {
    const Instance* large = pick(from_bits_);
    if (large == nullptr) throw UsageError(too_wide(plan_, "a layer, or the images, which are not bits,"));
    const cudaDeviceProp& device = device_properties(options_.device);
    large_.emplace(plan_, *large, from_bits_, device, stream_);
    if (forced_ != nullptr) return;
    const Instance* small =
        choose_small_tiles(plan_, resident::shapes_for(options_.precision), *large, device, from_bits_);
    if (small == nullptr) return;
    small_.emplace(plan_, *small, from_bits_, device, stream_);
    // When a fourth of the multiprocessors would have no large tile.
    small_tile_images_ = static_cast<Index>(device.multiProcessorCount) * large_->tile().images * 3 / 4;
  }

  BatchView batch_view() const {
    BatchView batch{};
    state_.attach(batch);
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
    batch.search = duplicates_.view(search_.data(), search_.data() + duplicates_.table_bytes(), &batch.control->listed,
                                    &batch.control->duplicates);
    return batch;
  }

  template <class T>
  void copy_back(T* to, const DeviceBuffer<T>& from, std::size_t count) const {
    if (count == 0) return;
    check(cudaMemcpyAsync(to, from.data(), count * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
  }

  const std::shared_ptr<const Plan> shared_plan_;
  const Plan& plan_ = *shared_plan_;
  const EngineOptions options_;
  const Instance* forced_;
  Stream stream_;
  bool from_bits_ = false;
  std::optional<DeviceLayout> large_;
  std::optional<DeviceLayout> small_;
  Index small_tile_images_ = 0;  ///< the small tiles run when at most this many images are left
  Index least_layers_ = 1;
  double shared_rate_ = 0;  ///< bytes per second of all shared memories
  GraphExec whole_run_;
  DeviceImages images_;
  DeviceBuffer<float> rows_[2];
  DeviceBuffer<Index> ids_[2];
  resident::RunState state_;
  DuplicateBuffers duplicates_;
  DeviceBuffer<std::byte> search_;  ///< the zero-initialised memory of the pass `identical`
};

}  // namespace

std::vector<ResidentShape> resident_shapes(Precision precision) {
  std::vector<ResidentShape> shapes;
  for (const Instance& instance : resident::shapes_for(precision).all) shapes.push_back(instance.shape);
  return shapes;
}

bool fits(const Plan& plan, std::size_t shape, const EngineOptions& options) {
  const cudaDeviceProp& device = device_properties(options.device);
  const Instance& instance = resident::shapes_for(options.precision).all[shape];
  return fits_as(plan, instance, device, true) || fits_as(plan, instance, device, false);
}

std::unique_ptr<Engine> make_resident(std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                                      const EngineOptions& options, std::size_t shape) {
  return std::make_unique<ResidentEngine>(std::move(plan), batch, options,
                                          &resident::shapes_for(options.precision).all[shape]);
}

namespace {

/// The reason why this device does not support the plan or the form of the images, or empty.
std::string reason_against_device(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  const cudaDeviceProp& device = device_properties(options.device);
  const Shapes shapes = resident::shapes_for(options.precision);
  const auto takes = [&](bool from_bits) { return choose_large_tiles(plan, shapes, device, from_bits) != nullptr; };
  if (takes(false) || (takes(true) && batch.bits)) return {};
  return too_wide(plan, takes(true) ? "a layer, or the images, which are not bits," : "a layer");
}

}  // namespace

}  // namespace spdnn::cuda

namespace spdnn {

Support support_resident(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  if (plan.depth() == 0) return {.why_not = "resident: a network without layers"};
  std::string why_not = reason_not_to_stream(plan, "resident");
  if (why_not.empty() && options.precision == Precision::fp16) why_not = cuda::reason_against_halves(plan, "resident");
  if (why_not.empty()) why_not = reason_not_to_watch(options, "resident");
  if (why_not.empty() && cuda::cuda_available(nullptr, options.device))
    why_not = cuda::reason_against_device(plan, batch, options);
  if (!why_not.empty()) return {.why_not = std::move(why_not)};
  // Rows twice; the layout of the plan: at most twice its terms, two bytes per term, six with values.
  const Index images = batch.images;
  const std::size_t rows =
      2 * (std::size_t{images} + 32) * (cuda::resident::row_stride(plan) * sizeof(float) + sizeof(Index));
  const bool values =
      std::any_of(plan.layers.begin(), plan.layers.end(), [](const Layer& layer) { return !layer.weights.uniform(); });
  const std::size_t widths = std::size_t{plan.depth()} * plan.max_width();
  return {.working_bytes = rows + cuda::DeviceImages::device_bytes(plan, images) +
                           cuda::DuplicateBuffers::device_bytes(plan, images, 2) + 2 * plan.edges() * (values ? 6 : 2) +
                           16 * widths};
}

std::unique_ptr<Engine> make_resident(std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                                      const EngineOptions& options) {
  return std::make_unique<cuda::ResidentEngine>(std::move(plan), batch, options, nullptr);
}

}  // namespace spdnn
