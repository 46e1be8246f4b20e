// The product of spmm_rows and spmm_merge: activations by tiles of 128 images, each tile neuron by neuron.
//
// Mapping: a warp works on one item (a neuron, several, or a piece of one) for one tile; a thread on 4 images. A term
// is one gather of 512 contiguous bytes by the warp, 16 a thread; 32 terms' indices are read at once, one a thread, and
// handed round. Blocks of one tile run together, so that its activations (512 bytes a neuron) are read from L2.
// Cost per term and image: 4 bytes from L2, plus 1/32 to 1/16 of that for index and weight. Bound: L2 bandwidth and
// the latency of gathers from it. ncu on an H200, official networks with all images alive: L2 busy 53 to 55 % for
// spmm_merge (1024 and 16384 neurons), 17 to 33 % for spmm_rows, device memory at most 11 %, issue slots 20 to 43 %.
//
// Bias, cap and the images' flags are applied before the sums are written. Settled images are dropped at a growing
// distance of layers (resident's phases do the same): only there the host waits, for one number.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engines/cuda/active_rows.hpp"
#include "engines/cuda/device.hpp"
#include "engines/cuda/device_images.hpp"
#include "engines/cuda/handle.hpp"
#include "engines/cuda/launch.hpp"
#include "engines/cuda/layer_source.hpp"
#include "engines/cuda/row_steps.cuh"
#include "engines/cuda/spmm_engine.hpp"

namespace spdnn::cuda {

namespace {

struct Config {
  static constexpr Index kTile = 128;        ///< images
  static constexpr unsigned kThreads = 256;  ///< a block; 8 items
  static constexpr Index kInFlight = 8;      ///< gathers a thread issues before it adds
  /// Memory for pieces' sums; tiles are taken so many at a time that it suffices.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 20U;

  static_assert(kTile == 4 * kWarp, "four images a thread");
  static_assert(kWarp % kInFlight == 0 && kThreads % kWarp == 0);
};

/// One layer's work on the device.
struct Work {
  const WorkItem* items = nullptr;  ///< null: item i is row i
  Index item_count = 0;
  const CutRow* cuts = nullptr;
  Index cut_count = 0;
  Index pieces = 0;
};

/// Tiles of activations. Element (image, neuron) of a layer of `width` neurons.
SPDNN_HOST_DEVICE std::size_t place(std::size_t image, Index neuron, Index width) {
  return (image / Config::kTile * width + neuron) * Config::kTile + image % Config::kTile;
}

Index tiles_for(std::size_t images) { return narrow<Index>((images + Config::kTile - 1) / Config::kTile); }

__device__ void add(float4& sum, float4 y, float w) {
  sum.x = fmaf(y.x, w, sum.x);
  sum.y = fmaf(y.y, w, sum.y);
  sum.z = fmaf(y.z, w, sum.z);
  sum.w = fmaf(y.w, w, sum.w);
}

/// Sum of terms [begin, end) for this thread's four images, in order.
__device__ float4 sum_terms(const DeviceLayer& layer, const float4* y, Offset begin, Offset end) {
  const Index lane = threadIdx.x % kWarp;
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  for (; begin < end; begin += kWarp) {
    const bool mine = begin + lane < end;
    const Index my_input = mine ? layer.index(begin + lane) : 0;
    const float my_weight = mine ? layer.edge_value(begin + lane) : 0.0F;
    const Index count = static_cast<Index>(min(end - begin, Offset{kWarp}));
    for (Index first = 0; first < count; first += Config::kInFlight) {
      float4 gathered[Config::kInFlight];
#pragma unroll
      for (Index k = 0; k < Config::kInFlight; ++k) {
        const Index input = __shfl_sync(0xffffffffU, my_input, first + k);
        if (first + k < count) gathered[k] = __ldg(y + std::size_t{input} * (Config::kTile / 4) + lane);
      }
#pragma unroll
      for (Index k = 0; k < Config::kInFlight; ++k) {
        const float weight = __shfl_sync(0xffffffffU, my_weight, first + k);
        if (first + k < count) add(sum, gathered[k], weight);
      }
    }
  }
  return sum;
}

/// Bits are added to the flags of four neighbouring images; what is there already costs a read only.
__device__ void raise(std::uint32_t* flags, const std::uint32_t (&bits)[4]) {
  const uint4 seen = __ldcg(reinterpret_cast<const uint4*>(flags));
  const std::uint32_t have[4] = {seen.x, seen.y, seen.z, seen.w};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if ((have[i] & bits[i]) != bits[i]) atomicOr(flags + i, bits[i]);
}

/// Activates four images' sums of a neuron and writes them.
__device__ void finish(const Activate& step, Index neuron, float4 sum, std::size_t tile, float* to,
                       std::uint32_t* flags) {
  const Index lane = threadIdx.x % kWarp;
  std::uint32_t bits[4];
  bits[0] = step(sum.x, neuron);
  bits[1] = step(sum.y, neuron);
  bits[2] = step(sum.z, neuron);
  bits[3] = step(sum.w, neuron);
  const std::size_t image = tile * Config::kTile + 4 * lane;
  *reinterpret_cast<float4*>(to + place(image, neuron, step.layer.outputs)) = sum;
  raise(flags + image, bits);
}

/// Sums of pieces: by tile of this launch, then by piece.
__global__ void __launch_bounds__(Config::kThreads)
    spmm_kernel(const __grid_constant__ Activate step, const __grid_constant__ Work work, const float* from, float* to,
                Index first_tile, float4* pieces, std::uint32_t* flags) {
  const Index number = blockIdx.x * (Config::kThreads / kWarp) + threadIdx.x / kWarp;
  if (number >= work.item_count) return;
  const Index lane = threadIdx.x % kWarp;
  const std::size_t tile = std::size_t{first_tile} + blockIdx.y;
  const DeviceLayer& layer = step.layer;
  const auto* y = reinterpret_cast<const float4*>(from + tile * Config::kTile * layer.inputs);
  WorkItem item{.row = number};
  if (work.items != nullptr) item = work.items[number];
  if (item.piece != WorkItem::kWhole) {
    const Offset begin = layer.offset(item.row) + item.first;
    pieces[(std::size_t{blockIdx.y} * work.pieces + item.piece) * kWarp + lane] =
        sum_terms(layer, y, begin, begin + item.terms);
    return;
  }
  for (Index row = item.row; row < item.row + item.rows; ++row)
    finish(step, row, sum_terms(layer, y, layer.offset(row), layer.offset(row + 1)), tile, to, flags);
}

/// Adds the pieces of cut rows: a warp a row and tile.
__global__ void __launch_bounds__(Config::kThreads)
    join_kernel(const __grid_constant__ Activate step, const __grid_constant__ Work work, Index first_tile,
                const float4* pieces, float* to, std::uint32_t* flags) {
  const Index number = blockIdx.x * (Config::kThreads / kWarp) + threadIdx.x / kWarp;
  if (number >= work.cut_count) return;
  const CutRow cut = work.cuts[number];
  const float4* mine = pieces + std::size_t{blockIdx.y} * work.pieces * kWarp + threadIdx.x % kWarp;
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  for (Index k = 0; k < cut.pieces; ++k) add(sum, mine[std::size_t{cut.first_piece + k} * kWarp], 1.0F);
  finish(step, cut.row, sum, std::size_t{first_tile} + blockIdx.y, to, flags);
}

/// A thread a word of an image: tiles from bits. Images that do not exist are zeros.
__global__ void expand_bits_kernel(const std::uint64_t* words, std::size_t words_per_row, Index images, Index neurons,
                                   float* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::size_t word = blockIdx.y; word < words_per_row; word += gridDim.y) {
    const std::uint64_t bits = image < images ? words[image * words_per_row + word] : 0;
    const Index end = static_cast<Index>(min(std::size_t{neurons}, (word + 1) * 64));
    for (Index neuron = static_cast<Index>(word * 64); neuron < end; ++neuron)
      to[place(image, neuron, neurons)] = (bits >> (neuron % 64) & 1U) != 0 ? 1.0F : 0.0F;
  }
}

/// A warp an image: CSR entries into tiles of zeros. An image's neurons may repeat.
__global__ void expand_sparse_kernel(const Offset* offsets, const Index* indices, const float* values, float value,
                                     Index images, Index neurons, float* to) {
  const std::size_t image = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (image >= images) return;
  for (Offset k = offsets[image] + threadIdx.x % kWarp; k < offsets[image + 1]; k += kWarp)
    atomicAdd(to + place(image, indices[k], neurons), values != nullptr ? values[k] : value);
}

/// Flags of the inputs: a thread an image and share of the neurons.
__global__ void flag_kernel(const float* y, Index images, Index neurons, float cap, std::uint32_t* flags) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const Inspect inspect{cap};
  std::uint32_t bits = 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y) {
    float value = y[place(image, neuron, neurons)];
    bits |= inspect(value, neuron);
  }
  atomicOr(flags + image, bits);
}

/// to(i) = from(kept[i]), and zeros up to the end of the last tile.
__global__ void gather_kernel(const float* from, const Index* kept, Index count, Index neurons, float* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t source = image < count ? kept[image] : 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    to[place(image, neuron, neurons)] = image < count ? from[place(source, neuron, neurons)] : 0.0F;
}

/// The items of all layers on the device.
class DeviceWork {
 public:
  DeviceWork(const Plan& plan, const ShareOut& share_out, cudaStream_t stream) {
    std::vector<WorkItem> items;
    std::vector<CutRow> cuts;
    std::vector<std::pair<std::size_t, std::size_t>> starts;
    for (const Layer& layer : plan.layers) {
      const WorkList list = share_out(layer.weights);
      starts.emplace_back(items.size(), cuts.size());
      works_.push_back({nullptr, list.items.empty() ? layer.outputs() : narrow<Index>(list.items.size()), nullptr,
                        narrow<Index>(list.cuts.size()), list.pieces});
      by_row_.push_back(list.items.empty());
      items.insert(items.end(), list.items.begin(), list.items.end());
      cuts.insert(cuts.end(), list.cuts.begin(), list.cuts.end());
      most_pieces_ = std::max(most_pieces_, list.pieces);
    }
    put(items_, items, stream);
    put(cuts_, cuts, stream);
    for (std::size_t k = 0; k < works_.size(); ++k) {
      if (!by_row_[k]) works_[k].items = items_.data() + starts[k].first;
      works_[k].cuts = cuts_.data() + starts[k].second;
    }
    check(cudaStreamSynchronize(stream));
  }

  const Work& operator[](Index layer) const { return works_[layer]; }
  Index most_pieces() const { return most_pieces_; }

 private:
  template <class T>
  static void put(DeviceBuffer<T>& to, const std::vector<T>& from, cudaStream_t stream) {
    to = DeviceBuffer<T>(from.size(), stream);
    if (from.empty()) return;
    check(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
    check(cudaStreamSynchronize(stream));
  }

  std::vector<Work> works_;
  std::vector<bool> by_row_;
  DeviceBuffer<WorkItem> items_;
  DeviceBuffer<CutRow> cuts_;
  Index most_pieces_ = 0;
};

constexpr LayerFormat kFormat{.indices16 = true, .values = false};

class SpmmEngine final : public Engine {
 public:
  SpmmEngine(Plan plan, const EngineOptions& options, const ShareOut& share_out)
      : plan_(std::move(plan)),
        stream_(stream_on(options)),
        activation_(activation_of(plan_)),
        layers_(plan_, kFormat, options, stream_),
        work_(plan_, share_out, stream_),
        rows_(plan_, stream_) {}

  void load(const ImageSet& images) override {
    images_.load(images, stream_);
    const std::size_t padded = std::size_t{tiles_for(images.images())} * Config::kTile;
    for (DeviceBuffer<float>& buffer : buffers_)
      buffer.reserve(padded * std::max(plan_.max_width(), images.neurons()), stream_);
    flags_.reserve(padded, stream_);
    tiles_at_once_ = std::max(1U, tiles_for(images.images()));
    if (work_.most_pieces() > 0) {
      const std::size_t bytes = std::size_t{work_.most_pieces()} * kWarp * sizeof(float4);
      const std::size_t affordable = std::max<std::size_t>(1, Config::kPieceBytes / bytes);
      tiles_at_once_ = static_cast<Index>(std::min<std::size_t>(tiles_at_once_, affordable));
      pieces_.reserve(std::size_t{work_.most_pieces()} * kWarp * tiles_at_once_, stream_);
    }
    tiles_at_once_ = std::min<Index>(tiles_at_once_, kMaxGridY);
    rows_.load(images.images());
    reset();
  }

  void reset() override {
    rows_.reset();
    width_ = images_.neurons();
    next_drop_ = 1;
    const Index images = images_.images();
    if (images == 0) return;
    expand(images);
    const dim3 grid(blocks_for(images, Config::kThreads), std::min(std::max(width_, 1U), 64U));
    check(cudaMemsetAsync(rows_.flags(), 0, std::size_t{images} * sizeof(std::uint32_t), stream_));
    flag_kernel<<<grid, Config::kThreads, 0, stream_>>>(y(), images, width_, activation_.cap, rows_.flags());
    check_launch();
    rows_.settle(0);
    if (rows_.may_settle(0)) drop_settled();
  }

  Index advance(Index first, Index until) override {
    for (Index number = first; number < until; ++number) run_layer(number);
    return until;
  }

  Outcome outcome() override {
    Outcome outcome = rows_.outcome();
    if (plan_.passes.identical) outcome.identical = -1;
    return outcome;
  }

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
    return rows_.fill_settled(width_, active);
  }

  static std::size_t device_bytes(const Plan& plan, const EngineOptions& options, Index images, bool items) {
    const std::size_t padded = std::size_t{tiles_for(images)} * Config::kTile;
    std::size_t neurons = 0;
    for (const Layer& layer : plan.layers) neurons += layer.outputs();
    return padded * (2 * std::size_t{plan.max_width()} * sizeof(float) + sizeof(std::uint32_t)) +
           (items ? neurons * sizeof(WorkItem) + Config::kPieceBytes : 0) + ActiveRows::device_bytes(plan, images) +
           DeviceImages::device_bytes(plan, images) + LayerSource::device_bytes(plan, kFormat, options);
  }

 private:
  float* y() const { return buffers_[side_].data(); }
  float* other() const { return buffers_[1 - side_].data(); }

  void expand(Index images) {
    if (width_ == 0) return;
    const std::size_t padded = std::size_t{tiles_for(images)} * Config::kTile;
    if (images_.is_bits()) {
      const auto words = static_cast<unsigned>(std::min<std::size_t>(images_.words_per_row(), kMaxGridY));
      expand_bits_kernel<<<dim3(blocks_for(padded, Config::kTile), words), Config::kTile, 0, stream_>>>(
          images_.words(), images_.words_per_row(), images, width_, y());
    } else {
      check(cudaMemsetAsync(y(), 0, padded * width_ * sizeof(float), stream_));
      expand_sparse_kernel<<<blocks_for(std::size_t{images} * kWarp, Config::kThreads), Config::kThreads, 0, stream_>>>(
          images_.offsets(), images_.indices(), images_.values(), images_.value(), images, width_, y());
    }
    check_launch();
  }

  void run_layer(Index number) {
    width_ = plan_.layers[number].outputs();
    if (rows_.rows() == 0) return;
    const float bound = plan_.passes.merge ? static_cast<float>(plan_.error_bounds.at(number)) : 0.0F;
    const Activate step{layers_.layer(number), activation_, bound};
    const Work& work = work_[number];
    const Index tiles = tiles_for(rows_.rows());
    check(cudaMemsetAsync(flags_.data(), 0, std::size_t{tiles} * Config::kTile * sizeof(std::uint32_t), stream_));
    constexpr unsigned kItems = Config::kThreads / kWarp;
    for (Index first = 0; first < tiles && work.item_count > 0; first += tiles_at_once_) {
      const Index count = std::min(tiles_at_once_, tiles - first);
      spmm_kernel<<<dim3(blocks_for(work.item_count, kItems), count), Config::kThreads, 0, stream_>>>(
          step, work, y(), other(), first, pieces_.data(), flags_.data());
      check_launch();
      if (work.cut_count == 0) continue;
      join_kernel<<<dim3(blocks_for(work.cut_count, kItems), count), Config::kThreads, 0, stream_>>>(
          step, work, first, pieces_.data(), other(), flags_.data());
      check_launch();
    }
    side_ = 1 - side_;
    check(cudaMemcpyAsync(rows_.flags(), flags_.data(), std::size_t{rows_.rows()} * sizeof(std::uint32_t),
                          cudaMemcpyDeviceToDevice, stream_));
    rows_.settle(number + 1);
    if (number + 1 < next_drop_ || !rows_.may_settle(number + 1)) return;
    next_drop_ = number + 1 + std::max(1U, (number + 1) / 4);
    drop_settled();
  }

  void drop_settled() {
    const Index before = rows_.rows();
    const Index kept = rows_.kept_rows();
    if (kept > 0 && before - kept <= before / 16) return;
    if (kept > 0 && width_ > 0) {
      const dim3 grid(tiles_for(kept), std::min(width_, 1024U));
      gather_kernel<<<grid, Config::kTile, 0, stream_>>>(y(), rows_.kept(), kept, width_, other());
      check_launch();
      side_ = 1 - side_;
    }
    rows_.compact(kept);
  }

  const Plan plan_;
  Stream stream_;
  Activation activation_;
  LayerSource layers_;
  DeviceWork work_;
  ActiveRows rows_;
  DeviceImages images_;
  std::array<DeviceBuffer<float>, 2> buffers_;  ///< tiles of activations
  std::size_t side_ = 0;
  DeviceBuffer<std::uint32_t> flags_;  ///< by row, to the end of the last tile
  DeviceBuffer<float4> pieces_;
  Index tiles_at_once_ = 1;
  Index width_ = 0;      ///< neurons of y()
  Index next_drop_ = 1;  ///< layers done before settled rows are dropped again
};

}  // namespace

std::unique_ptr<Engine> make_spmm_engine(Plan plan, const EngineOptions& options, const ShareOut& share_out) {
  return std::make_unique<SpmmEngine>(std::move(plan), options, share_out);
}

std::size_t spmm_engine_bytes(const Plan& plan, const EngineOptions& options, Index images, const ShareOut&) {
  const auto regular = [](const Layer& layer) {
    for (Index row = 0; row < layer.outputs(); ++row)
      if (layer.weights.degree(row) != layer.weights.degree(0)) return false;
    return true;
  };
  const bool items = !std::all_of(plan.layers.begin(), plan.layers.end(), regular);
  return SpmmEngine::device_bytes(plan, options, images, items);
}

}  // namespace spdnn::cuda
