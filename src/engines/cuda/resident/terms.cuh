#pragma once

// The reading and adding of terms in the `resident` engine; kernel.cuh describes mapping and cost.

#include "engines/cuda/resident/phase.cuh"
#include "engines/cuda/retire/row_kernels.hpp"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::resident {

/// This thread's position in its warp: neuron `neuron` of each bundle, and in a row part(0), part(1), ... in units of
/// C::Wide. Threads that are served in one cycle and whose rows may overlap read different parts.
template <class C>
struct Lane {
  static constexpr Index kPartBytes = sizeof(typename C::Wide);

  Index warp = threadIdx.x / 32;
  Index lane = threadIdx.x % 32;
  Index neuron = lane / C::kLanes;
  Index offset;  ///< of part(0), in bytes

  __device__ Lane() {
    // 128 bytes per cycle: 8 threads of 16 bytes. Of their neurons, the layout keeps bank_groups() apart.
    constexpr Index kTogether = 128 / sizeof(typename C::Wide) / C::kLanes;
    const Index turn = neuron % kTogether / C::kShape.bank_groups();
    offset = (turn * C::kLanes + lane % C::kLanes) * kPartBytes;
    asm("" : "+r"(offset));  // see row_at()
  }

  /// The bits in which the offsets of part(i) and part(0) differ.
  static constexpr Index turned(Index i) { return i * C::kLanes; }
  __device__ Index part(Index i) const { return offset / kPartBytes ^ turned(i); }

  /// The bits of this thread's images, moved from its order to their positions in the tile.
  __device__ std::uint32_t spread(std::uint32_t mine) const {
    std::uint32_t bits = 0;
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i)
      bits |= (mine >> (i * C::kWide) & ((1U << C::kWide) - 1)) << (part(i) * C::kWide);
    return bits;
  }
};

/// The arguments of the functions of one layer.
template <class C>
struct LayerRun {
  const LayoutView& layout;
  LayerInfo info;
  bool watch_cap;     ///< Flags::miss is requested
  std::size_t place;  ///< of the layer and this warp in the layout's tables
  const typename C::Stored* rows;
  const Lane<C>& lane;
  Flags& seen;  ///< the block's: split rounds raise theirs themselves
};

/// Staggers the beginning of a full layer: four warps begin together, one of each scheduler, and the next four a little
/// later. Otherwise all would end their rounds at the same time, and shared memory would be idle while they turn sums
/// into activations. Several blocks on a multiprocessor, and uneven sums, are staggered anyway. `words`: of round
/// `lane`, see round_kind.
template <class C>
__device__ void stagger(Index words) {
  constexpr Index kCycles = 1280;  // until the last begin
  constexpr Index kGroups = C::kThreads / 128;
  if constexpr (C::kBlocks == 1 && !C::kUneven && kGroups > 1) {
    const Index last = __shfl_sync(0xffffffffU, words, C::kRounds - 1);
    if ((last & round_kind::kMask) == round_kind::kWhole) delay(threadIdx.x / 128 * (kCycles / kGroups));
  }
}

/// Eight terms of one neuron.
template <class C>
struct Chunk {
  uint4 slots;
  float4 weights[C::kValues ? 2 : 1];

  /// Neuron `neuron` of `neurons` that have their chunks at `at`.
  __device__ void read(const uint4* at, Index neuron, Index neurons = C::kBundle) {
    slots = fetch(at + neuron);
    if constexpr (C::kValues) {
      weights[0] = fetch(reinterpret_cast<const float4*>(at) + neurons + neuron);
      weights[1] = fetch(reinterpret_cast<const float4*>(at) + 2 * neurons + neuron);
    }
  }
  /// Bypasses L1, because they are read once; in uneven kernels, ordinary loads are faster.
  template <class T>
  __device__ static T fetch(const T* from) {
    if constexpr (C::kUneven)
      return __ldg(from);
    else
      return read_past_l1(from);
  }
  __device__ Index slot(int term) const {
    const std::uint32_t pair = term < 2 ? slots.x : term < 4 ? slots.y : term < 6 ? slots.z : slots.w;
    return term % 2 == 0 ? pair & 0xffffU : pair >> 16U;
  }
  __device__ float weight(int term, float common) const {
    if constexpr (!C::kValues) return common;
    const float4& four = weights[C::kValues ? term / 4 : 0];
    return term % 4 == 0 ? four.x : term % 4 == 1 ? four.y : term % 4 == 2 ? four.z : four.w;
  }
};

/// The warp's stream of chunks from a layer on.
template <class C>
struct Reader {
  const uint4* at;
  Chunk<C> ahead[C::kAhead];

  static constexpr Index kUnits = C::kBundle * (C::kValues ? 3 : 1);

  __device__ Reader(const LayoutView& layout, Index layer, const Lane<C>& lane) {
    read_ahead(reinterpret_cast<const uint4*>(layout.chunk_stream) +
                   __ldg(layout.starts + std::size_t{layer} * C::kWarps + lane.warp),
               lane);
  }
  __device__ void read_ahead(const uint4* from, const Lane<C>& lane) {
    at = from;
#pragma unroll
    for (Index i = 0; i < C::kAhead; ++i, at += kUnits) ahead[i].read(at, lane.neuron);
  }
  /// Where the next chunk begins.
  __device__ const uint4* position() const { return at - C::kAhead * kUnits; }
  /// Reads past the layer's end into the next layer's chunks; at its end the stream is padded by kAhead.
  __device__ Chunk<C> next(const Lane<C>& lane) {
    const Chunk<C> chunk = ahead[0];
#pragma unroll
    for (Index i = 0; i + 1 < C::kAhead; ++i) ahead[i] = ahead[i + 1];
    ahead[C::kAhead - 1].read(at, lane.neuron);
    at += kUnits;
    return chunk;
  }
};

/// The address `offset` bytes after the beginning of a slot: one multiplication and addition. Lane hides from the
/// compiler that offset is a multiple of 16: it would factor that out and need two instructions.
template <class C>
__device__ Index row_at(Index slot, Index offset) {
  return slot * C::kShape.slot_bytes() + offset;
}

template <class Wide, class Stored>
__device__ Wide read_at(const Stored* tile, Index bytes) {
  return *reinterpret_cast<const Wide*>(reinterpret_cast<const char*>(tile) + bytes);
}

/// Adds kTerms terms, in order. With kBits the tile holds one word of bits per input, one bit per image.
template <class C, bool kBits, Index kTerms>
__device__ void add_terms(const typename C::Stored* tile, const Chunk<C>& chunk, float common, const Lane<C>& lane,
                          float (&sums)[C::kLaneImages]) {
#pragma unroll
  for (int term = 0; term < static_cast<int>(kTerms); ++term) {
    const Index slot = chunk.slot(term);
    const float weight = chunk.weight(term, common);
    if constexpr (kBits) {
      const std::uint32_t word = reinterpret_cast<const typename C::Bits*>(tile)[slot];
#pragma unroll
      for (Index i = 0; i < C::kLaneImages; ++i) {
        const std::uint32_t mine = word >> (lane.part(i / C::kWide) * C::kWide);
        if ((mine >> (i % C::kWide) & 1U) != 0) sums[i] += weight;
      }
    } else {
      const Index at = row_at<C>(slot, lane.offset);
#pragma unroll
      for (Index i = 0; i < C::kParts; ++i) {
        float y[C::kWide];
        unpack(read_at<typename C::Wide>(tile, at ^ Lane<C>::turned(i) * Lane<C>::kPartBytes), y);
#pragma unroll
        for (Index k = 0; k < C::kWide; ++k) sums[i * C::kWide + k] = fmaf(y[k], weight, sums[i * C::kWide + k]);
      }
    }
  }
}

/// Adds the first two terms of a chunk alternately, `pairs` times each; they are read once.
template <class C>
__device__ void add_alternating(const typename C::Stored* tile, const Chunk<C>& chunk, Index pairs, float weight,
                                const Lane<C>& lane, float (&sums)[C::kLaneImages]) {
  const Index first_at = row_at<C>(chunk.slot(0), lane.offset);
  const Index second_at = row_at<C>(chunk.slot(1), lane.offset);
#pragma unroll
  for (Index i = 0; i < C::kParts; ++i) {
    constexpr Index kPartBytes = Lane<C>::kPartBytes;
    float first[C::kWide];
    float second[C::kWide];
    unpack(read_at<typename C::Wide>(tile, first_at ^ Lane<C>::turned(i) * kPartBytes), first);
    unpack(read_at<typename C::Wide>(tile, second_at ^ Lane<C>::turned(i) * kPartBytes), second);
    float* mine = sums + i * C::kWide;
#pragma unroll 8
    for (Index pair = 0; pair < pairs; ++pair) {
#pragma unroll
      for (Index k = 0; k < C::kWide; ++k) mine[k] = fmaf(first[k], weight, mine[k]);
#pragma unroll
      for (Index k = 0; k < C::kWide; ++k) mine[k] = fmaf(second[k], weight, mine[k]);
    }
  }
}

/// Turns sums into activations. The common case takes five or six instructions per neuron and image. `live`: the stored
/// value is not zero. `miss`: the value was below the cap before rounding, so an image that reaches the cap only by
/// rounding is not retired.
template <class C, Index kImages>
__device__ void activate(const LayerRun<C>& run, float bias, Flags& flags, float (&sums)[kImages]) {
  constexpr float kZero = kStoredAsZero<typename C::Stored>;
  const LayerInfo& info = run.info;
  const float cap = run.layout.activation.cap;
  if (info.bias_always) {
#pragma unroll
    for (Index i = 0; i < kImages; ++i) sums[i] += bias;
    if (run.watch_cap) {
#pragma unroll
      for (Index i = 0; i < kImages; ++i) flags.miss |= sums[i] >= cap + info.bound ? 0U : 1U << i;
    }
#pragma unroll
    for (Index i = 0; i < kImages; ++i) {
      if (sums[i] > kZero - info.bound) flags.live |= 1U << i;
      sums[i] = fminf(fmaxf(sums[i], 0.0F), cap);
    }
    return;
  }
#pragma unroll
  for (Index i = 0; i < kImages; ++i) {
    float y = run.layout.activation(sums[i], bias);
    if constexpr (kZero > 0.0F) y = y <= kZero ? 0.0F : y;
    const std::uint32_t seen = flags_of(y, sums[i] + bias, cap, info.bound);
    flags.live |= (seen & kMayLive) != 0 ? 1U << i : 0U;
    flags.miss |= (seen & kMayMiss) != 0 ? 1U << i : 0U;
    sums[i] = y;
  }
}

}  // namespace spdnn::cuda::resident
