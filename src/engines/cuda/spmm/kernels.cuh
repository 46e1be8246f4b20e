#pragma once

// The kernels of spmm_rows, spmm_merge and spmm_shared, on activations in tiles of 128 images, each tile neuron by
// neuron.
//
// Mapping: a warp works on one item (a neuron, several, or a piece of one) for one tile, a thread on four images. A
// term is one gather of 512 contiguous bytes by the warp, 16 per thread; the indices of 32 terms are read at once, one
// per thread, and handed round. Gathers are asynchronous copies into shared memory, where a thread reads only what it
// copied itself: that keeps more of them in flight than registers could. Blocks of one tile run together, so that its
// activations (512 bytes per neuron) are read from L2. Cost per term and image: 4 bytes from L2, plus 1/32 to 1/16 of
// that for index and weight. Bound: L2 bandwidth and the latency of gathers from it; results/h200/structure_free.md has
// measurements. shared_kernel gives a warp up to 16 neurons of the same inputs, of which each gather is read once.
//
// Bias, cap and the images' flags are applied before the sums are written. Retired images are dropped at a growing
// distance of layers, as the phases of `resident` do: only there the host waits, for one number.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/retire/row_steps.cuh"
#include "engines/cuda/runtime/block.cuh"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/spmm/work_items.hpp"

namespace spdnn::cuda::spmm {

struct Config {
  static constexpr Index kTile = 128;        ///< images
  static constexpr unsigned kThreads = 256;  ///< per block, for 8 items
  static constexpr Index kGroup = 4;         ///< gathers that a thread issues and waits for together
  static constexpr Index kGroups = 3;        ///< of these, in flight or being added
  static constexpr Index kStages = kGroup * kGroups;
  static constexpr Index kMostRows = 8;  ///< that a warp takes one after another, where there are warps enough
  /// Memory for pieces' sums; tiles are taken so many at a time that it suffices.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 20U;

  static_assert(kTile == 4 * kWarp, "four images per thread");
  static_assert(kWarp % kGroup == 0 && kGroups - 1 <= kWarp / kGroup && kThreads % kWarp == 0);
  static_assert(sizeof(float4) * kThreads * kStages <= 48 << 10U, "shared memory of a block");
};

/// One layer's work on the device.
struct Work {
  const WorkItem* items = nullptr;  ///< null: item i is rows_each rows from i * rows_each on
  Index rows_each = 1;
  Index item_count = 0;
  const CutRow* cuts = nullptr;
  Index cut_count = 0;
  Index pieces = 0;
  const SharedRows* shared = nullptr;  ///< where given, item_count of these are all of the work
};

/// Tiles of activations. Element (image, neuron) of a layer of `width` neurons.
SPDNN_HOST_DEVICE inline std::size_t place(std::size_t image, Index neuron, Index width) {
  return (image / Config::kTile * width + neuron) * Config::kTile + image % Config::kTile;
}

inline Index tiles_for(std::size_t images) { return narrow<Index>((images + Config::kTile - 1) / Config::kTile); }

__device__ inline void add(float4& sum, float4 y, float w) {
  sum.x = fmaf(y.x, w, sum.x);
  sum.y = fmaf(y.y, w, sum.y);
  sum.z = fmaf(y.z, w, sum.z);
  sum.w = fmaf(y.w, w, sum.w);
}

/// Where this thread's gathers arrive: kStages places, one per warp and term. No other thread reads them.
__device__ inline float4* gather_places() {
  __shared__ float4 places[Config::kThreads * Config::kStages];
  return places + threadIdx.x / kWarp * (kWarp * Config::kStages) + threadIdx.x % kWarp;
}

/// The activations that the terms from `begin` on read, on their way to this thread, in groups of kGroup terms. Each
/// group is started kAhead groups before it is taken.
class Gathers {
 public:
  static constexpr Index kGroup = Config::kGroup;
  static constexpr Index kAhead = Config::kGroups - 1;
  static constexpr Index kReads = kWarp / kGroup;  ///< groups whose inputs and weights are read at once

  __device__ Gathers(const DeviceLayer& layer, const float4* y, Offset begin, Index terms, float4* places)
      : layer_(layer), y_(y), begin_(begin), terms_(terms), places_(places) {}

  __device__ Index groups() const { return (terms_ + kGroup - 1) / kGroup; }

  /// Starts group `group`, the one after that started last, if there is one. read(term) is called where the inputs of
  /// 32 terms are read, for this thread's of them, so that it can read their weights.
  template <class Read>
  __device__ void start(Index group, Read read) {
    if (group < groups()) {
      if (group % kReads == 0) {
        const Index mine = group * kGroup + threadIdx.x % kWarp;
        inputs_ = mine < terms_ ? layer_.index(begin_ + mine) : 0;
        read(mine);
      }
#pragma unroll
      for (Index k = 0; k < kGroup; ++k) {
        const Index input = __shfl_sync(0xffffffffU, inputs_, group % kReads * kGroup + k);
        if (group * kGroup + k < terms_)
          async_copy<16>(places_ + (started_ + k) * kWarp,
                         y_ + std::size_t{input} * (Config::kTile / 4) + threadIdx.x % kWarp);
      }
      started_ = after(started_);
    }
    async_copy_commit();
  }

  /// Waits for the next group. take(k, y) is called for its terms, in order, with four images' activations.
  template <class Take>
  __device__ void take(Take take) {
    async_copy_wait<kAhead>();
#pragma unroll
    for (Index k = 0; k < kGroup; ++k) take(k, places_[(taken_ + k) * kWarp]);
    taken_ = after(taken_);
  }

 private:
  __device__ static Index after(Index place) { return place + kGroup == Config::kStages ? 0 : place + kGroup; }

  const DeviceLayer& layer_;
  const float4* y_;
  Offset begin_;
  Index terms_;
  float4* places_;
  Index inputs_ = 0;
  Index started_ = 0;  ///< where the next group arrives
  Index taken_ = 0;
};

/// Adds up the terms from `begin` to `end`, those of item.rows rows from item.row on or a piece of one, for this
/// thread's four images and in order; done(row, sum) takes each row's sum. Gathers run ahead of the adding, from one
/// row to the next.
template <class Done>
__device__ void sum_terms(const DeviceLayer& layer, const float4* y, const WorkItem& item, Offset begin, Offset end,
                          float4* places, Done done) {
  constexpr Index kGroup = Gathers::kGroup;
  const Index lane = threadIdx.x % kWarp;
  const auto terms = static_cast<Index>(end - begin);
  const bool one_weight = layer.values == nullptr;
  Gathers gathers(layer, y, begin, terms, places);
  float read_weight = 0.0F;
  const auto read = [&](Index mine) {
    if (!one_weight) read_weight = mine < terms ? layer.values[begin + mine] : 0.0F;
  };
#pragma unroll
  for (Index group = 0; group < Gathers::kAhead; ++group) gathers.start(group, read);

  Index row = 0;
  const auto read_end = [&](Index number) {
    return number + 1 < item.rows ? static_cast<Index>(layer.offset(item.row + number + 1) - begin) : terms;
  };
  Index ends = read_end(lane);  // of 32 rows, one per thread
  Index row_end = __shfl_sync(0xffffffffU, ends, 0);
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  const auto finish_row = [&] {
    done(item.row + row, sum);
    sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    ++row;
    if (row % kWarp == 0) ends = read_end(row + lane);
    row_end = __shfl_sync(0xffffffffU, ends, row % kWarp);
  };
  float my_weight = layer.value;
  for (Index group = 0; group < gathers.groups(); ++group) {
    gathers.start(group + Gathers::kAhead, read);
    if (!one_weight && group % Gathers::kReads == 0) my_weight = read_weight;
    gathers.take([&](Index k, const float4& activations) {
      const Index term = group * kGroup + k;
      const float weight =
          one_weight ? my_weight : __shfl_sync(0xffffffffU, my_weight, group % Gathers::kReads * kGroup + k);
      if (term >= terms) return;
      while (term == row_end) finish_row();
      add(sum, activations, weight);
    });
  }
  while (row < item.rows) finish_row();
}

/// A zero that the compiler knows nothing of. Twins' sums are equal, and it would otherwise add up only one of them:
/// which work is left out is for the passes to say.
__device__ inline float opaque_zero() {
  float zero = 0.0F;
#ifdef __CUDA_ARCH__
  asm volatile("" : "+f"(zero));
#endif
  return zero;
}

/// Adds up the terms of `rows` rows that have the same inputs, reading each input once: done(row, sum) as above.
/// my_row: the row whose number is this thread's in the warp. With kFull there are as many rows as SharedRows hold.
template <bool kOneWeight, bool kFull, class Done>
__device__ void sum_shared(const DeviceLayer& layer, const float4* y, Index my_row, Index rows, float4* places,
                           Done done) {
  constexpr Index kRows = SharedRows::kMost;
  constexpr Index kGroup = Gathers::kGroup;
  const auto is_row = [&](Index r) { return kFull || r < rows; };
  const Offset my_begin = my_row != SharedRows::kNone ? layer.offset(my_row) : 0;
  const Offset begin = __shfl_sync(0xffffffffU, my_begin, 0);
  const Offset end = __shfl_sync(0xffffffffU, my_row != SharedRows::kNone ? layer.offset(my_row + 1) : 0, 0);
  const auto terms = static_cast<Index>(end - begin);
  Gathers gathers(layer, y, begin, terms, places);
  float read_weights[kOneWeight ? 1 : kRows] = {};
  const auto read = [&](Index mine) {
    if constexpr (!kOneWeight) {
#pragma unroll
      for (Index r = 0; r < kRows; ++r) {
        const Offset from = __shfl_sync(0xffffffffU, my_begin, r);
        read_weights[r] = is_row(r) && mine < terms ? layer.values[from + mine] : 0.0F;
      }
    }
  };
#pragma unroll
  for (Index group = 0; group < Gathers::kAhead; ++group) gathers.start(group, read);

  float4 sums[kRows];
#pragma unroll
  for (Index r = 0; r < kRows; ++r) sums[r] = make_float4(opaque_zero(), opaque_zero(), opaque_zero(), opaque_zero());
  float my_weights[kOneWeight ? 1 : kRows] = {};
  for (Index group = 0; group < gathers.groups(); ++group) {
    gathers.start(group + Gathers::kAhead, read);
    if constexpr (!kOneWeight) {
      if (group % Gathers::kReads == 0) {
#pragma unroll
        for (Index r = 0; r < kRows; ++r) my_weights[r] = read_weights[r];
      }
    }
    gathers.take([&](Index k, const float4& activations) {
      if (group * kGroup + k >= terms) return;
#pragma unroll
      for (Index r = 0; r < kRows; ++r) {
        if (!is_row(r)) continue;
        float weight = layer.value;
        if constexpr (!kOneWeight)
          weight = __shfl_sync(0xffffffffU, my_weights[r], group % Gathers::kReads * kGroup + k);
        add(sums[r], activations, weight);
      }
    });
  }
#pragma unroll
  for (Index r = 0; r < kRows; ++r)
    if (is_row(r)) done(__shfl_sync(0xffffffffU, my_row, r), sums[r]);
}

/// Adds bits to the flags of four neighbouring images; where they are set already, this costs a read only.
__device__ inline void raise(std::uint32_t* flags, const std::uint32_t (&bits)[4]) {
  const uint4 seen = __ldcg(reinterpret_cast<const uint4*>(flags));
  const std::uint32_t have[4] = {seen.x, seen.y, seen.z, seen.w};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if ((have[i] & bits[i]) != bits[i]) atomicOr(flags + i, bits[i]);
}

/// Activates four images' sums of a neuron and writes them; their flags join `bits`.
template <class Step>
__device__ void finish(const Step& step, Index neuron, float4 sum, std::size_t tile, float* to,
                       std::uint32_t (&bits)[4]) {
  bits[0] |= step(sum.x, neuron);
  bits[1] |= step(sum.y, neuron);
  bits[2] |= step(sum.z, neuron);
  bits[3] |= step(sum.w, neuron);
  const std::size_t image = tile * Config::kTile + 4 * (threadIdx.x % kWarp);
  *reinterpret_cast<float4*>(to + place(image, neuron, step.layer.outputs)) = sum;
}

/// One warp per item and tile. Sums of pieces are written by tile of this launch, then by piece.
template <class Step>
__global__ void __launch_bounds__(Config::kThreads)
    spmm_kernel(const __grid_constant__ Step step, const __grid_constant__ Work work, const float* from, float* to,
                Index first_tile, float4* pieces, std::uint32_t* flags) {
  const Index number = blockIdx.x * (Config::kThreads / kWarp) + threadIdx.x / kWarp;
  if (number >= work.item_count) return;
  const Index lane = threadIdx.x % kWarp;
  const std::size_t tile = std::size_t{first_tile} + blockIdx.y;
  const DeviceLayer& layer = step.layer;
  const auto* y = reinterpret_cast<const float4*>(from + tile * Config::kTile * layer.inputs);
  float4* const places = gather_places();
  WorkItem item;
  if (work.items != nullptr) {
    item = work.items[number];
  } else {
    item.row = number * work.rows_each;
    item.rows = min(work.rows_each, layer.outputs - item.row);
  }
  if (item.piece != WorkItem::kWhole) {
    const Offset begin = layer.offset(item.row) + item.first;
    float4* const piece = pieces + (std::size_t{blockIdx.y} * work.pieces + item.piece) * kWarp + lane;
    sum_terms(layer, y, item, begin, begin + item.terms, places, [&](Index, float4 sum) { *piece = sum; });
    return;
  }
  std::uint32_t bits[4] = {};
  sum_terms(layer, y, item, layer.offset(item.row), layer.offset(item.row + item.rows), places,
            [&](Index row, float4 sum) { finish(step, row, sum, tile, to, bits); });
  raise(flags + tile * Config::kTile + 4 * lane, bits);
}

/// One warp per SharedRows and tile.
template <class Step>
__global__ void __launch_bounds__(Config::kThreads, 2)
    shared_kernel(const __grid_constant__ Step step, const __grid_constant__ Work work, const float* from, float* to,
                  Index first_tile, std::uint32_t* flags) {
  const Index number = blockIdx.x * (Config::kThreads / kWarp) + threadIdx.x / kWarp;
  if (number >= work.item_count) return;
  const Index lane = threadIdx.x % kWarp;
  const std::size_t tile = std::size_t{first_tile} + blockIdx.y;
  const DeviceLayer& layer = step.layer;
  const auto* y = reinterpret_cast<const float4*>(from + tile * Config::kTile * layer.inputs);
  const Index my_row = lane < SharedRows::kMost ? work.shared[number].rows[lane] : SharedRows::kNone;
  const auto rows = static_cast<Index>(__popc(__ballot_sync(0xffffffffU, my_row != SharedRows::kNone)));
  std::uint32_t bits[4] = {};
  const auto done = [&](Index row, float4 sum) { finish(step, row, sum, tile, to, bits); };
  float4* const places = gather_places();
  if (layer.values != nullptr)
    sum_shared<false, false>(layer, y, my_row, rows, places, done);
  else if (rows == SharedRows::kMost)
    sum_shared<true, true>(layer, y, my_row, rows, places, done);
  else
    sum_shared<true, false>(layer, y, my_row, rows, places, done);
  raise(flags + tile * Config::kTile + 4 * lane, bits);
}

/// Adds the pieces of cut rows: one warp per row and tile.
template <class Step>
__global__ void __launch_bounds__(Config::kThreads)
    join_kernel(const __grid_constant__ Step step, const __grid_constant__ Work work, Index first_tile,
                const float4* pieces, float* to, std::uint32_t* flags) {
  const Index number = blockIdx.x * (Config::kThreads / kWarp) + threadIdx.x / kWarp;
  if (number >= work.cut_count) return;
  const CutRow cut = work.cuts[number];
  const float4* mine = pieces + std::size_t{blockIdx.y} * work.pieces * kWarp + threadIdx.x % kWarp;
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  for (Index k = 0; k < cut.pieces; ++k) add(sum, mine[std::size_t{cut.first_piece + k} * kWarp], 1.0F);
  const std::size_t tile = std::size_t{first_tile} + blockIdx.y;
  std::uint32_t bits[4] = {};
  finish(step, cut.row, sum, tile, to, bits);
  raise(flags + tile * Config::kTile + 4 * (threadIdx.x % kWarp), bits);
}

/// Expands bits into tiles: one thread per word of an image. Images that do not exist become zeros.
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

/// Adds CSR entries to tiles of zeros: one warp per image, whose neurons may repeat.
__global__ void expand_sparse_kernel(const Offset* offsets, const Index* indices, const float* values, float value,
                                     Index images, Index neurons, float* to) {
  const std::size_t image = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (image >= images) return;
  for (Offset k = offsets[image] + threadIdx.x % kWarp; k < offsets[image + 1]; k += kWarp)
    atomicAdd(to + place(image, indices[k], neurons), values != nullptr ? values[k] : value);
}

/// Flags of the inputs: one thread per image and share of the neurons.
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

/// hashes(i) += those of a share of image i's neurons: one thread per image and share.
__global__ void hash_kernel(const float* y, Index images, Index neurons, unsigned long long* hashes) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  std::uint64_t mine = 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    mine += hash_share(neuron, y[place(image, neuron, neurons)]);
  atomicAdd(hashes + image, static_cast<unsigned long long>(mine));
}

/// heads(i) = i where image i differs from image heads(i), which several threads may find.
__global__ void compare_kernel(const float* y, Index images, Index neurons, Index* heads) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const std::size_t head = heads[image];
  if (head == image) return;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    if (y[place(image, neuron, neurons)] != y[place(head, neuron, neurons)]) heads[image] = static_cast<Index>(image);
}

/// to(i) = from(kept[i]), and zeros up to the end of the last tile.
__global__ void gather_kernel(const float* from, const Index* kept, Index count, Index neurons, float* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t source = image < count ? kept[image] : 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    to[place(image, neuron, neurons)] = image < count ? from[place(source, neuron, neurons)] : 0.0F;
}

}  // namespace spdnn::cuda::spmm
