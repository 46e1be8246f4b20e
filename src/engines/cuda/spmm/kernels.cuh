#pragma once

// The products of spmm_rows, spmm_merge and spmm_shared, on activations in tiles of 128 images, each tile neuron by
// neuron.
//
// Mapping: a warp works on one item (a neuron, several, or a piece of one) for one tile, a thread on four images. A
// term is one gather of 512 contiguous bytes by the warp, 16 per thread; the indices of 32 terms are read together, one
// per thread, and exchanged by shuffles. Gathers are asynchronous copies into shared memory, where a thread reads only
// its own copies: that keeps more of them in flight than registers could. Blocks of one tile run together, so that its
// activations (512 bytes per neuron) are read from L2. Cost per term and image: 4 bytes from L2, plus 1/32 to 1/16 of
// that for index and weight. Bound: L2 bandwidth and the latency of gathers from it; results/h200/structure_free.md has
// measurements. shared_kernel gives a warp up to 16 neurons of the same inputs, of which each gather is read once.
//
// Bias, cap and the images' flags are applied before the sums are written.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/retire/row_steps.cuh"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/spmm/gathers.cuh"
#include "engines/cuda/spmm/tiles.cuh"
#include "engines/cuda/spmm/work_items.hpp"

namespace spdnn::cuda::spmm {

/// One layer's work on the device.
struct Work {
  const WorkItem* items = nullptr;  ///< null: item i is rows_each rows from i * rows_each on
  Index rows_each = 1;
  Index item_count = 0;
  const CutRow* cuts = nullptr;
  Index cut_count = 0;
  Index pieces = 0;
  const SharedRows* shared = nullptr;  ///< if given, item_count of these are the whole work
};

__device__ inline void add(float4& sum, float4 y, float w) {
  sum.x = fmaf(y.x, w, sum.x);
  sum.y = fmaf(y.y, w, sum.y);
  sum.z = fmaf(y.z, w, sum.z);
  sum.w = fmaf(y.w, w, sum.w);
}

/// Sums the terms from `begin` to `end`, those of item.rows rows from item.row on or a piece of one, for this thread's
/// four images and in order; done(row, sum) receives each row's sum. Gathers run ahead of the additions, across rows.
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

/// A zero that the compiler cannot fold. Otherwise it would compute only one of several equal sums of twins, but only
/// passes may omit work.
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

/// Sets bits in the flags of four neighbouring images; if they are already set, this costs only a read.
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

}  // namespace spdnn::cuda::spmm
