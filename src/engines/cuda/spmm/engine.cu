// The engine of spmm_rows, spmm_merge and spmm_shared; its products, their mapping and their cost are in kernels.cuh.
// Retired images are dropped at a growing distance of layers, as the phases of `resident` do: only there the host
// waits, for one number.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/retire/active_rows.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/spmm/device_work.cuh"
#include "engines/cuda/spmm/engine.hpp"
#include "engines/cuda/spmm/images.cuh"
#include "engines/cuda/spmm/kernels.cuh"

namespace spdnn::cuda {

namespace {

using spmm::Config;
using spmm::DeviceWork;
using spmm::place;
using spmm::tiles_for;
using spmm::Work;

/// A search for duplicates costs as much as several layers of a few thousand images, which mostly die in the first
/// layers.
constexpr Index kFirstSearch = 8;

constexpr LayerFormat kFormat{.indices16 = true, .values = false};

class SpmmEngine final : public InspectableEngine {
 public:
  SpmmEngine(std::shared_ptr<const Plan> plan, const EngineOptions& options, ShareOut share_out)
      : shared_plan_(std::move(plan)),
        options_(options),
        stream_(stream_on(options)),
        activation_(activation_of(plan_, options.may_overflow)),
        work_(plan_, std::move(share_out), stream_),
        layers_(plan_, kFormat, options, stream_, &work_),
        rows_(plan_, options.may_overflow, stream_),
        many_warps_(std::size_t{128} * device_properties(options.device).multiProcessorCount) {
    work_.allocate(layers_.resident());
  }

  void load(const ImageSet& images) override {
    images_.load(images, stream_);
    const std::size_t padded = std::size_t{tiles_for(images.images())} * Config::kTile;
    for (DeviceBuffer<float>& buffer : buffers_)
      buffer.reserve(padded * std::max(plan_.max_width(), images.neurons()), stream_);
    tiles_at_once_ = std::max(1U, tiles_for(images.images()));
    if (work_.most_pieces() > 0) {
      const std::size_t bytes = work_.most_pieces() * kWarp * sizeof(float4);
      const std::size_t affordable = std::max<std::size_t>(1, Config::kPieceBytes / bytes);
      tiles_at_once_ = static_cast<Index>(std::min<std::size_t>(tiles_at_once_, affordable));
      pieces_.reserve(work_.most_pieces() * kWarp * tiles_at_once_, stream_);
    }
    tiles_at_once_ = std::min<Index>(tiles_at_once_, kMaxGridY);
    rows_.load(images.images(), padded);
    reset();
  }

  void reset() override {
    rows_.reset();
    width_ = images_.neurons();
    next_drop_ = 1;
    next_search_ = kFirstSearch;
    const Index images = images_.images();
    if (images == 0) return;
    expand(images);
    check(cudaMemsetAsync(rows_.flags(), 0, std::size_t{images} * sizeof(std::uint32_t), stream_));
    spmm::flag_kernel<<<shares(images), Config::kThreads, 0, stream_>>>(y(), images, width_, activation_.cap,
                                                                        rows_.flags());
    check_launch();
    rows_.retire(0);
    if (rows_.may_retire(0)) drop_retired(0);
  }

  Index advance(Index first, Index until) override {
    for (Index number = first; number < until; ++number) run_layer(number);
    return until;
  }

  Outcome outcome() override { return rows_.outcome(); }

  std::vector<double> activations() override {
    const Index rows = rows_.rows();
    std::vector<float> stored(std::size_t{tiles_for(rows)} * Config::kTile * width_);
    if (!stored.empty())
      check(cudaMemcpyAsync(stored.data(), y(), stored.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    std::vector<double> active(std::size_t{rows} * width_);
    for (std::size_t row = 0; row < rows; ++row)
      for (Index neuron = 0; neuron < width_; ++neuron)
        active[row * width_ + neuron] = stored[place(row, neuron, width_)];
    return rows_.fill_retired(width_, active);
  }

  std::unique_ptr<ActivationsCopy> copy_activations() override {
    const ImageRows rows = rows_.image_rows(width_);
    const auto as_rows = [&](float* to) {
      if (rows.floats() == 0) return;
      const dim3 grid(blocks_for(rows_.rows(), spmm::kSquare), std::min(blocks_for(width_, spmm::kSquare), 64U));
      spmm::rows_kernel<<<grid, dim3(spmm::kSquare, 8), 0, stream_>>>(y(), rows.rows(), width_, to);
      check_launch();
    };
    return copy_rows(rows, options_, stream_, as_rows);
  }

  static std::size_t device_bytes(const Plan& plan, const EngineOptions& options, Index images,
                                  const ShareOut& share_out) {
    const std::size_t padded = std::size_t{tiles_for(images)} * Config::kTile;
    const bool resident = LayerSource::fits(plan, kFormat, options);
    const WorkSize work = resident ? all_work(plan, share_out.cut_at) : most_work(plan, share_out.cut_at);
    std::size_t shared = 0;
    for (Index k = 0; share_out.shared && k < plan.depth(); ++k)
      shared = resident ? shared + plan.outputs(k) : std::max<std::size_t>(shared, plan.outputs(k));
    const std::size_t work_bytes =
        (resident ? 1 : 2) * (work.items * sizeof(WorkItem) + work.cuts * sizeof(CutRow) + shared * sizeof(SharedRows));
    return padded * 2 * plan.max_width() * sizeof(float) + work_bytes + (work.pieces > 0 ? Config::kPieceBytes : 0) +
           ActiveRows::device_bytes(plan, images) + DeviceImages::device_bytes(plan, images) +
           LayerSource::device_bytes(plan, kFormat, options);
  }

 private:
  float* y() const { return buffers_[side_].data(); }
  float* other() const { return buffers_[1 - side_].data(); }

  /// Threads of kernels that read each activation once: one per image and share of the neurons.
  dim3 shares(Index images) const {
    return {blocks_for(images, Config::kThreads), std::min(std::max(width_, 1U), 64U)};
  }

  void expand(Index images) {
    if (width_ == 0) return;
    const std::size_t padded = std::size_t{tiles_for(images)} * Config::kTile;
    if (images_.is_bits()) {
      const auto words = static_cast<unsigned>(std::min<std::size_t>(images_.words_per_row(), kMaxGridY));
      spmm::expand_bits_kernel<<<dim3(blocks_for(padded, Config::kTile), words), Config::kTile, 0, stream_>>>(
          images_.words(), images_.words_per_row(), images, width_, y());
    } else {
      check(cudaMemsetAsync(y(), 0, padded * width_ * sizeof(float), stream_));
      spmm::expand_sparse_kernel<<<blocks_for(std::size_t{images} * kWarp, Config::kThreads), Config::kThreads, 0,
                                   stream_>>>(images_.offsets(), images_.indices(), images_.values(), images_.value(),
                                              images, width_, y());
    }
    check_launch();
  }

  /// If items are rows: several rows per item, as long as the device still has several times the warps that it runs
  /// concurrently.
  Work widened(Work work, Index tiles) const {
    if (work.items != nullptr || work.shared != nullptr) return work;
    const std::size_t rows = work.item_count;
    work.rows_each = static_cast<Index>(std::clamp<std::size_t>(rows * tiles / many_warps_, 1, Config::kMostRows));
    work.item_count = static_cast<Index>((rows + work.rows_each - 1) / work.rows_each);
    return work;
  }

  /// All tiles, in groups for which the sums of pieces have room.
  template <class Step>
  void multiply(const Step& step, const Work& given) {
    const Index tiles = tiles_for(rows_.rows());
    const Work work = widened(given, tiles);
    constexpr unsigned kItems = Config::kThreads / kWarp;
    for (Index first = 0; first < tiles && work.item_count > 0; first += tiles_at_once_) {
      const Index count = std::min(tiles_at_once_, tiles - first);
      if (work.shared != nullptr) {
        spmm::shared_kernel<<<dim3(blocks_for(work.item_count, kItems), count), Config::kThreads, 0, stream_>>>(
            step, work, y(), other(), first, rows_.flags());
        check_launch();
        continue;
      }
      spmm::spmm_kernel<<<dim3(blocks_for(work.item_count, kItems), count), Config::kThreads, 0, stream_>>>(
          step, work, y(), other(), first, pieces_.data(), rows_.flags());
      check_launch();
      if (work.cut_count == 0) continue;
      spmm::join_kernel<<<dim3(blocks_for(work.cut_count, kItems), count), Config::kThreads, 0, stream_>>>(
          step, work, first, pieces_.data(), other(), rows_.flags());
      check_launch();
    }
  }

  void run_layer(Index number) {
    width_ = plan_.outputs(number);
    if (rows_.rows() == 0) return;
    const float bound = error_bound_of(plan_, number);
    const DeviceLayer layer = layers_.layer(number);
    check(cudaMemsetAsync(rows_.flags(), 0,
                          std::size_t{tiles_for(rows_.rows())} * Config::kTile * sizeof(std::uint32_t), stream_));
    const Work& work = work_.of(number, layers_);
    if (activation_.watched)
      multiply(Activate<true>{layer, activation_, bound}, work);
    else
      multiply(Activate<false>{layer, activation_, bound}, work);
    side_ = 1 - side_;
    rows_.retire(number + 1);
    if (number + 1 < next_drop_ || !rows_.may_retire(number + 1)) return;
    next_drop_ = number + 1 + std::max(1U, (number + 1) / 4);
    if (plan_.passes.identical && number + 1 >= next_search_) {
      retire_duplicates();
      next_search_ = 2 * (number + 1);
    }
    drop_retired(number + 1);
  }

  void retire_duplicates() {
    const Index rows = rows_.rows();
    const dim3 grid = shares(rows);
    rows_.retire_duplicates(
        [&](std::uint64_t* hashes) {
          check(cudaMemsetAsync(hashes, 0, std::size_t{rows} * sizeof(*hashes), stream_));
          spmm::hash_kernel<<<grid, Config::kThreads, 0, stream_>>>(y(), rows, width_,
                                                                    reinterpret_cast<unsigned long long*>(hashes));
          check_launch();
        },
        [&](Index* heads) {
          spmm::compare_kernel<<<grid, Config::kThreads, 0, stream_>>>(y(), rows, width_, heads);
          check_launch();
        });
  }

  void drop_retired(Index layers_done) {
    const std::optional<Index> kept = rows_.rows_worth_moving({Config::kTile, plan_.depth() - layers_done});
    if (!kept) return;
    if (*kept > 0 && width_ > 0) {
      const dim3 grid(tiles_for(*kept), std::min(width_, 1024U));
      spmm::gather_kernel<<<grid, Config::kTile, 0, stream_>>>(y(), rows_.kept(), *kept, width_, other());
      check_launch();
      side_ = 1 - side_;
    }
    rows_.compact(*kept);
  }

  const std::shared_ptr<const Plan> shared_plan_;
  const Plan& plan_ = *shared_plan_;
  const EngineOptions options_;
  Stream stream_;
  Activation activation_;
  DeviceWork work_;
  LayerSource layers_;
  ActiveRows rows_;
  std::size_t many_warps_;  ///< four times the concurrent warps of the multiprocessors
  DeviceImages images_;
  std::array<DeviceBuffer<float>, 2> buffers_;  ///< tiles of activations
  std::size_t side_ = 0;
  DeviceBuffer<float4> pieces_;
  Index tiles_at_once_ = 1;
  Index width_ = 0;                   ///< neurons of y()
  Index next_drop_ = 1;               ///< layers done before retired rows are dropped again
  Index next_search_ = kFirstSearch;  ///< layers between searches for duplicates, if rows are dropped
};

}  // namespace

std::unique_ptr<Engine> make_spmm_engine(std::shared_ptr<const Plan> plan, const EngineOptions& options,
                                         ShareOut share_out) {
  return std::make_unique<SpmmEngine>(std::move(plan), options, std::move(share_out));
}

Support spmm_support(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                     const ShareOut& share_out) {
  return {.working_bytes = SpmmEngine::device_bytes(plan, options, batch.images, share_out)};
}

}  // namespace spdnn::cuda
