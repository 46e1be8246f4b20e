#pragma once

// tail_kernel: the tail of a plan (tail_program.hpp) in place of the second launch of cascade_kernel. Few images come
// here, and the latency of a layer bounds them, its barrier included. Here a warp follows one image to its end, without
// a barrier.
//
// Work. A warp takes a survivor of the first launch, drops it if it is a duplicate, and runs it to the last layer or
// until it retires. Survivors are dealt to the blocks in turn: their warps count them in shared memory. The last block
// to finish writes the results into the host's memory.
//
// Mapping. A lane computes the neurons `lane` and `lane + 32` of a layer. Activations lie in shared memory, in several
// copies, so that the inputs that the lanes read at a time lie in different banks. A term is a byte, the word of its
// input in the row: a dot product with one byte of 4 makes the address, then follow one read and one FMA. The terms of
// the next layer are in registers by the time that a layer ends.
//
// Bound. Latency of a layer; with all warps of a multiprocessor busy, shared memory.

#include <bit>

#include "engines/cuda/cascade/ends_of_launches.cuh"
#include "engines/cuda/cascade/retire.cuh"
#include "engines/cuda/cascade/survivors.cuh"

namespace spdnn::cuda::cascade {

inline constexpr Index kTailWarps = 32;  ///< of a block
inline constexpr Index kTailThreads = 32 * kTailWarps;

struct TailBlock {
  /// Each warp's image before and after a layer, in turns, from the first multiple of two rows on: the addresses of
  /// the two differ in one bit.
  float rows[2 * kTailWarps + 2][kTailCopies * kTailWidth];
  Index live[kMostTailLayers];       ///< images by layer, from LaunchArgs::first on, as in LayerTally
  Index saturated[kMostTailLayers];  ///< likewise
  Index taken;                       ///< of the block's images
  Index reached;                     ///< the layer after the last one that was run
  Index finish[2];                   ///< for finish_run()
};

/// A layer as a lane needs it.
struct TailStep {
  TailLayer layer;
  uint4 chunks[2][2];  ///< 16 terms each, by neuron

  __device__ static TailStep read(const TailView& tail, Index number) {
    const Index i = number - tail.first;
    const uint4* terms = tail.terms + std::size_t{i} * (Tail::kLayerBytes / sizeof(uint4)) + threadIdx.x % 32;
    TailStep step;
    step.layer = std::bit_cast<TailLayer>(__ldg(reinterpret_cast<const uint4*>(tail.layers + i)));
#pragma unroll
    for (Index k = 0; k < 4; ++k) step.chunks[k / 2][k % 2] = __ldg(terms + 32 * k);
    return step;
  }
};

/// An image, followed by a warp.
class TailImage {
 public:
  __device__ TailImage(const ProgramView& program, const TailView& tail, const LaunchArgs& args, TailBlock& block)
      : program_(program), tail_(tail), args_(args), block_(block) {}

  /// Follows survivor `place` to its end. `first`: the first layer.
  __device__ void follow(Index place, const TailStep& first) {
    const Index width = tail_.inputs;
    const bool searching = args_.search.list != nullptr;
    image_ = lane_ == 0 ? __ldcg(args_.in.images + place) : kNoImage;
    const std::uint32_t hash = searching && lane_ == 0 ? __ldcg(args_.search.hashes[kSide] + place) : 0;
    const float* row = args_.in.rows + std::size_t{place} * args_.in.stride;
    const float y[2] = {lane_ < width ? __ldcg(row + lane_) : 0.0F,
                        lane_ + 32 < width ? __ldcg(row + lane_ + 32) : 0.0F};
    row_ = (shared_address(block_.rows) + 2 * kRowBytes - 1) / (2 * kRowBytes) * (2 * kRowBytes) +
           threadIdx.x / 32 * 2 * kRowBytes;
    store(y);
    __syncwarp();
    if (searching && __any_sync(0xffffffffU, is_duplicate(args_, width, place + lane_, lane_ == 0, hash, image_)))
      return;

    TailStep next = first;
    Index number = args_.first;
    for (; number < args_.until; ++number) {
      const TailStep step = next;
      next = TailStep::read(tail_, min(number + 1, program_.depth - 1));
      if (run(number, step)) break;
    }
    if (lane_ == 0) atomicMax(&block_.reached, min(number + 1, args_.until));
    if (number == args_.until && args_.out.rows != nullptr) save(tail_.layers[args_.until - 1 - tail_.first].outputs);
  }

 private:
  static constexpr Index kRowBytes = kTailCopies * kTailWidth * sizeof(float);

  /// Writes this lane's two neurons, all copies of them.
  __device__ void store(const float (&y)[2]) const {
#pragma unroll
    for (Index copy = 0; copy < kTailCopies; ++copy) {
#pragma unroll
      for (Index k = 0; k < 2; ++k) store_shared((row_ + 4 * lane_) ^ (4 * tail_word(32 * k, copy)), y[k]);
    }
  }

  /// Sums of this lane's first kNeurons neurons, in order.
  template <Index kNeurons>
  __device__ void add(const TailStep& step, float (&sums)[2]) const {
#pragma unroll
    for (Index q = 0; q < 2; ++q) {
#pragma unroll
      for (Index word = 0; word < 4; ++word) {
        float y[2][4];
#pragma unroll
        for (Index t = 0; t < 4; ++t) {
#pragma unroll
          for (Index k = 0; k < kNeurons; ++k) {
            const uint4& chunk = step.chunks[k][q];
            const std::uint32_t terms = word == 0 ? chunk.x : word == 1 ? chunk.y : word == 2 ? chunk.z : chunk.w;
            y[k][t] = load_shared(__dp4a(terms, 4U << (8 * t), row_));
          }
        }
#pragma unroll
        for (Index t = 0; t < 4; ++t) {
#pragma unroll
          for (Index k = 0; k < kNeurons; ++k) sums[k] = fmaf(y[k][t], step.layer.weight, sums[k]);
        }
      }
    }
  }

  /// Runs layer `number`; returns whether the image retires.
  __device__ bool run(Index number, const TailStep& step) {
    const Index outputs = step.layer.outputs;
    float sums[2] = {0.0F, 0.0F};
    if (outputs > 32)
      add<2>(step, sums);
    else
      add<1>(step, sums);
    const float cap = program_.activation.cap;
    float y[2];
    bool live = false;
    bool below = false;
    row_ ^= kRowBytes;
#pragma unroll
    for (Index k = 0; k < 2; ++k) {
      y[k] = fminf(fmaxf(sums[k] + step.layer.bias, 0.0F), cap);
      const bool exists = lane_ + 32 * k < outputs;
      live = live || (exists && y[k] > 0.0F);
      below = below || (exists && y[k] < cap);
    }
    store(y);
    const Marks marks{static_cast<std::uint8_t>(__any_sync(0xffffffffU, live) ? 1 : 0),
                      static_cast<std::uint8_t>(__any_sync(0xffffffffU, below) ? 1 : 0)};
    const Decision decision = decide(program_, number, outputs, true, marks);
    if (lane_ == 0) {
      if (decision.live) atomicAdd(&block_.live[number - args_.first], 1U);
      if (decision.saturated) atomicAdd(&block_.saturated[number - args_.first], 1U);
      if (decision.ends) record_end(program_, args_, number, image_, decision);
      note_zero(args_, number, image_, decision);
    }
    __syncwarp();
    return decision.saturated || decision.dead;
  }

  /// Writes the image to `out` after layers of which the last has `width` neurons.
  __device__ void save(Index width) const {
    Index place = 0;
    if (lane_ == 0) {
      place = atomicAdd(args_.out.count, 1U);
      args_.out.images[place] = image_;
    }
    place = __shfl_sync(0xffffffffU, place, 0);
    float* row = args_.out.rows + std::size_t{place} * args_.out.stride;
    for (Index i = lane_; i < width; i += 32) row[i] = load_shared(row_ + 4 * tail_word(i, 0));
  }

  const ProgramView& program_;
  const TailView& tail_;
  const LaunchArgs& args_;
  TailBlock& block_;
  Index lane_ = threadIdx.x % 32;
  Index image_ = kNoImage;  ///< in lane 0
  std::uint32_t row_ = 0;   ///< where its activations are in shared memory
};

__global__ void __launch_bounds__(kTailThreads, 1)
    tail_kernel(const __grid_constant__ ProgramView program, const __grid_constant__ TailView tail,
                const __grid_constant__ LaunchArgs args) {
  auto& block = *dynamic_shared<TailBlock>();
  for (Index i = threadIdx.x; i < args.until - args.first; i += kTailThreads) block.live[i] = block.saturated[i] = 0;
  if (threadIdx.x == 0) {
    block.taken = kTailWarps;
    block.reached = 0;
  }
  const TailStep first = TailStep::read(tail, args.first);
  __syncthreads();
  await_previous_kernel();

  const Index images = __ldcg(args.in.count);
  TailImage image(program, tail, args, block);
  for (Index own = threadIdx.x / 32; own * gridDim.x + blockIdx.x < images;) {
    const Index next = threadIdx.x % 32 == 0 ? atomicAdd(&block.taken, 1U) : 0;
    image.follow(own * gridDim.x + blockIdx.x, first);
    own = __shfl_sync(0xffffffffU, next, 0);
  }
  __syncthreads();
  for (Index i = threadIdx.x; i < args.until - args.first; i += kTailThreads) {
    LayerTally& tally = args.tallies[args.first + i];
    if (block.live[i] > 0) atomicAdd(&tally.live, block.live[i]);
    if (block.saturated[i] > 0) atomicAdd(&tally.saturated, block.saturated[i]);
  }
  if (threadIdx.x == 0) atomicMax(args.counted, min(block.reached + 1, program.depth));
  if (args.results.to != nullptr) finish_run(program.depth, args, block.finish);
}

}  // namespace spdnn::cuda::cascade
