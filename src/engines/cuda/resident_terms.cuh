#pragma once

// How threads of the `resident` engine read terms and add them up; mapping and cost stand in resident_kernel.cuh.

#include "engines/cuda/resident_types.cuh"
#include "engines/cuda/row_kernels.hpp"

namespace spdnn::cuda::resident {

/// This thread's place in its warp: neuron `neuron` of each bundle, and in a row the parts[0], parts[1], ... in units
/// of C::Wide. Of the threads that shared memory serves in one cycle, those whose rows may overlap read different
/// parts.
template <class C>
struct Lane {
  Index warp = threadIdx.x / 32;
  Index lane = threadIdx.x % 32;
  Index neuron = lane / C::kLanes;
  Index part[C::kParts];
  Index offset[C::kParts];  ///< of the parts, in bytes

  __device__ Lane() {
    // 128 bytes a cycle: 8 threads of 16 bytes. Of their neurons, colours() are kept apart by the layout.
    constexpr Index kTogether = 128 / sizeof(typename C::Wide) / C::kLanes;
    const Index turn = neuron % kTogether / C::kShape.colours();
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i) {
      part[i] = (i ^ turn) * C::kLanes + lane % C::kLanes;
      offset[i] = part[i] * Index{sizeof(typename C::Wide)};
      asm("" : "+r"(offset[i]));  // see in_row()
    }
  }

  /// The bits of this thread's images, in its order, put where the images stand in the tile.
  __device__ std::uint32_t spread(std::uint32_t mine) const {
    std::uint32_t bits = 0;
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i)
      bits |= (mine >> (i * C::kWide) & ((1U << C::kWide) - 1)) << (part[i] * C::kWide);
    return bits;
  }
};

/// Eight terms of one neuron.
template <class C>
struct Chunk {
  uint4 slots;
  float4 weights[C::kValues ? 2 : 1];

  /// Neuron `neuron` of `neurons` that have their chunks at `at`.
  __device__ void read(const uint4* at, Index neuron, Index neurons = C::kBundle) {
    slots = __ldg(at + neuron);
    if constexpr (C::kValues) {
      weights[0] = __ldg(reinterpret_cast<const float4*>(at) + neurons + neuron);
      weights[1] = __ldg(reinterpret_cast<const float4*>(at) + 2 * neurons + neuron);
    }
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

/// The warp's stream of chunks, layer by layer.
template <class C>
struct Reader {
  const uint4* at;
  Chunk<C> ahead[C::kAhead];
  Index words;  ///< of round `lane`: see round_kind
  const uint4* next_at;
  Index next_words;

  static constexpr Index kUnits = C::kBundle * (C::kValues ? 3 : 1);

  /// Looks up where a layer's chunks are, long before it is opened.
  __device__ void look_up(const Program& program, Index layer, const Lane<C>& lane) {
    const std::size_t place = std::size_t{layer} * C::kWarps + lane.warp;
    next_at = program.stream + __ldg(program.starts + place);
    next_words = __ldg(program.rounds + place * kMaxRounds + lane.lane);
  }
  __device__ void open(const Lane<C>& lane) {
    words = next_words;
    read_ahead(next_at, lane);
  }
  __device__ void read_ahead(const uint4* from, const Lane<C>& lane) {
    at = from;
#pragma unroll
    for (Index i = 0; i < C::kAhead; ++i, at += kUnits) ahead[i].read(at, lane.neuron);
  }
  /// Of the next chunk.
  __device__ const uint4* position() const { return at - C::kAhead * kUnits; }
  /// Reads on past the layer's end: the stream is longer than its chunks by kAhead.
  __device__ Chunk<C> next(const Lane<C>& lane) {
    const Chunk<C> chunk = ahead[0];
#pragma unroll
    for (Index i = 0; i + 1 < C::kAhead; ++i) ahead[i] = ahead[i + 1];
    ahead[C::kAhead - 1].read(at, lane.neuron);
    at += kUnits;
    return chunk;
  }
};

/// What stands `offset` bytes behind the beginning of a row: one multiplication and addition. Where the compiler knew
/// that offset is a multiple of 16 it would factor that out and need two instructions.
template <class C, class Wide>
__device__ Wide in_row(const typename C::Stored* tile, Index slot, Index offset) {
  return *reinterpret_cast<const Wide*>(reinterpret_cast<const char*>(tile) + (slot * C::kShape.slot_bytes() + offset));
}

/// Adds kTerms terms, in order. With kBits the tile holds a word of bits a row, one an image.
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
        const std::uint32_t mine = word >> (lane.part[i / C::kWide] * C::kWide);
        if ((mine >> (i % C::kWide) & 1U) != 0) sums[i] += weight;
      }
    } else {
#pragma unroll
      for (Index i = 0; i < C::kParts; ++i) {
        float y[C::kWide];
        unpack(in_row<C, typename C::Wide>(tile, slot, lane.offset[i]), y);
#pragma unroll
        for (Index k = 0; k < C::kWide; ++k) sums[i * C::kWide + k] = fmaf(y[k], weight, sums[i * C::kWide + k]);
      }
    }
  }
}

/// Adds the first two terms of a chunk `pairs` times in turn; they are read once.
template <class C>
__device__ void add_alternating(const typename C::Stored* tile, const Chunk<C>& chunk, Index pairs, float weight,
                                const Lane<C>& lane, float (&sums)[C::kLaneImages]) {
#pragma unroll
  for (Index i = 0; i < C::kParts; ++i) {
    float first[C::kWide];
    float second[C::kWide];
    unpack(in_row<C, typename C::Wide>(tile, chunk.slot(0), lane.offset[i]), first);
    unpack(in_row<C, typename C::Wide>(tile, chunk.slot(1), lane.offset[i]), second);
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

/// Sums become activations. The usual case takes six instructions a neuron and image: all warps of a block come here
/// at about the same time, and shared memory is idle meanwhile. Live is what is not zero once stored; a miss is what
/// was below the cap before it was rounded: an image that only rounding brings to the cap is kept, not retired.
template <class C, Index kImages>
__device__ void activate(const Program& program, const LayerInfo& info, bool watch_cap, float bias, Flags& flags,
                         float (&sums)[kImages]) {
  constexpr float kZero = kStoredAsZero<typename C::Stored>;
  const float cap = program.activation.cap;
  if (info.plain) {
#pragma unroll
    for (Index i = 0; i < kImages; ++i) sums[i] += bias;
    if (watch_cap) {
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
    float y = program.activation(sums[i], bias);
    if constexpr (kZero > 0.0F) y = y <= kZero ? 0.0F : y;
    const std::uint32_t seen = flags_of(y, sums[i] + bias, cap, info.bound);
    flags.live |= (seen & kMayLive) != 0 ? 1U << i : 0U;
    flags.miss |= (seen & kMayMiss) != 0 ? 1U << i : 0U;
    sums[i] = y;
  }
}

}  // namespace spdnn::cuda::resident
