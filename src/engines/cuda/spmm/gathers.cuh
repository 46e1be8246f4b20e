#pragma once

// Gathers of activations, which run ahead of the adding.

#include <cuda_runtime_api.h>

#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/runtime/block.cuh"
#include "engines/cuda/spmm/tiles.cuh"

namespace spdnn::cuda::spmm {

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
  static constexpr Index kReads = kWarp / kGroup;  ///< groups whose inputs and weights are in flight

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
  Index started_ = 0;  ///< the buffer of the next group
  Index taken_ = 0;
};

}  // namespace spdnn::cuda::spmm
