#pragma once

// One layer of the `resident` engine on a tile in shared memory; mapping and cost stand in resident_kernel.cuh.

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

  __device__ Lane() {
    // 128 bytes a cycle: 8 threads of 16 bytes. Of their neurons, colours() are kept apart by the layout.
    constexpr Index kTogether = 128 / sizeof(typename C::Wide) / C::kLanes;
    const Index turn = neuron % kTogether / C::kShape.colours();
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i) part[i] = (i ^ turn) * C::kLanes + lane % C::kLanes;
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

/// Eight terms of this thread's neuron.
template <class C>
struct Chunk {
  uint4 slots;
  float4 weights[C::kValues ? 2 : 1];

  __device__ void read(const uint4* at, Index neuron) {
    slots = __ldg(at + neuron);
    if constexpr (C::kValues) {
      weights[0] = __ldg(reinterpret_cast<const float4*>(at) + C::kBundle + neuron);
      weights[1] = __ldg(reinterpret_cast<const float4*>(at) + 2 * C::kBundle + neuron);
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
  Index chunks;  ///< of the bundle of round `lane`
  const uint4* next_at;
  Index next_chunks;

  static constexpr Index kUnits = C::kBundle * (C::kValues ? 3 : 1);

  /// Looks up where a layer's chunks are, long before it is opened.
  __device__ void look_up(const Program& program, Index layer, const Lane<C>& lane) {
    const std::size_t place = std::size_t{layer} * C::kWarps + lane.warp;
    next_at = program.stream + __ldg(program.starts + place);
    next_chunks = __ldg(program.chunks + place * kMaxRounds + lane.lane);
  }
  __device__ void open(const Lane<C>& lane) {
    at = next_at;
    chunks = next_chunks;
#pragma unroll
    for (Index i = 0; i < C::kAhead; ++i, at += kUnits) ahead[i].read(at, lane.neuron);
  }
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

/// Adds eight terms, in order. With kBits the tile holds a word of bits a row, one an image.
template <class C, bool kBits>
__device__ void add_terms(const typename C::Stored* tile, const Chunk<C>& chunk, float common, const Lane<C>& lane,
                          float (&sums)[C::kLaneImages]) {
#pragma unroll
  for (int term = 0; term < static_cast<int>(kChunkTerms); ++term) {
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
        unpack(reinterpret_cast<const typename C::Wide*>(tile)[slot * C::kPitch + lane.part[i]], y);
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
  const auto* rows = reinterpret_cast<const typename C::Wide*>(tile);
#pragma unroll
  for (Index i = 0; i < C::kParts; ++i) {
    float first[C::kWide];
    float second[C::kWide];
    unpack(rows[chunk.slot(0) * C::kPitch + lane.part[i]], first);
    unpack(rows[chunk.slot(1) * C::kPitch + lane.part[i]], second);
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

/// Bits of this thread's images over all neurons of a layer so far.
struct LaneFlags {
  std::uint32_t live = 0;
  std::uint32_t miss = 0;
};

/// Sums become activations. The usual case takes six instructions a neuron and image: all warps of a block come here
/// at about the same time, and shared memory is idle meanwhile. Live is what is not zero once stored; a miss is what
/// was below the cap before it was rounded: an image that only rounding brings to the cap is kept, not retired.
template <class C>
__device__ void activate(const Program& program, const LayerInfo& info, bool watch_cap, float bias, LaneFlags& flags,
                         float (&sums)[C::kLaneImages]) {
  constexpr float kZero = kStoredAsZero<typename C::Stored>;
  const float cap = program.activation.cap;
  if (info.plain) {
#pragma unroll
    for (Index i = 0; i < C::kLaneImages; ++i) sums[i] += bias;
    if (watch_cap) {
#pragma unroll
      for (Index i = 0; i < C::kLaneImages; ++i) flags.miss |= sums[i] >= cap + info.bound ? 0U : 1U << i;
    }
#pragma unroll
    for (Index i = 0; i < C::kLaneImages; ++i) {
      if (sums[i] > kZero - info.bound) flags.live |= 1U << i;
      sums[i] = fminf(fmaxf(sums[i], 0.0F), cap);
    }
    return;
  }
#pragma unroll
  for (Index i = 0; i < C::kLaneImages; ++i) {
    float y = program.activation(sums[i], bias);
    if constexpr (kZero > 0.0F) y = y <= kZero ? 0.0F : y;
    const std::uint32_t seen = flags_of(y, sums[i] + bias, cap, info.bound);
    flags.live |= (seen & kMayLive) != 0 ? 1U << i : 0U;
    flags.miss |= (seen & kMayMiss) != 0 ? 1U << i : 0U;
    sums[i] = y;
  }
}

/// One neuron of a layer: `sums` become this thread's activations.
template <class C, bool kBits>
__device__ void run_round(const Program& program, const LayerInfo& info, bool watch_cap, std::size_t place, Index round,
                          const typename C::Stored* tile, const Lane<C>& lane, Reader<C>& reader, LaneFlags& flags,
                          float (&sums)[C::kLaneImages]) {
#pragma unroll
  for (Index i = 0; i < C::kLaneImages; ++i) sums[i] = 0.0F;
  const Index chunks = __shfl_sync(0xffffffffU, reader.chunks, round);
  if (chunks == kNoBundle) return;
  const std::size_t at = (place * C::kRounds + round) * C::kBundle + lane.neuron;
  const float bias = program.biases != nullptr ? program.biases[at] : info.bias;
  if (!kBits && (chunks & kAlternating) != 0) {
    add_alternating<C>(tile, reader.next(lane), chunks & ~Index{kAlternating}, info.weight, lane, sums);
  } else {
#pragma unroll 1
    for (Index k = 0; k < chunks; ++k) add_terms<C, kBits>(tile, reader.next(lane), info.weight, lane, sums);
  }
  activate<C>(program, info, watch_cap, bias, flags, sums);
}

/// One layer: `out` receives this thread's activations. `watch_cap`: somebody asks for LaneFlags::miss.
template <class C, bool kBits>
__device__ LaneFlags run_layer(const Program& program, const LayerInfo info, bool watch_cap, std::size_t place,
                               const typename C::Stored* tile, const Lane<C>& lane, Reader<C>& reader,
                               typename C::Outputs (&out)[C::kRounds]) {
  LaneFlags flags;
#pragma unroll
  for (Index round = 0; round < C::kRounds; ++round) {
    if constexpr (C::kHalves) {
      float sums[C::kLaneImages];
      run_round<C, kBits>(program, info, watch_cap, place, round, tile, lane, reader, flags, sums);
#pragma unroll
      for (Index i = 0; i < C::kParts; ++i) out[round][i] = pack<typename C::Wide>(sums + i * C::kWide);
    } else {
      run_round<C, kBits>(program, info, watch_cap, place, round, tile, lane, reader, flags, out[round]);
    }
  }
  return flags;
}

/// Where this thread's outputs go; read ahead of the barrier where registers allow.
template <class C>
struct Targets {
  static constexpr bool kEarly = C::kRounds <= 4;
  std::uint32_t early[kEarly ? C::kRounds : 1];

  __device__ static std::uint32_t read(const Program& program, std::size_t place, Index round, const Lane<C>& lane) {
    return __ldg(program.targets + (place * C::kRounds + round) * C::kBundle + lane.neuron);
  }
  __device__ Targets(const Program& program, std::size_t place, const Lane<C>& lane) {
    if constexpr (kEarly) {
#pragma unroll
      for (Index round = 0; round < C::kRounds; ++round) early[round] = read(program, place, round, lane);
    }
  }
  __device__ std::uint32_t get(const Program& program, std::size_t place, Index round, const Lane<C>& lane) const {
    if constexpr (kEarly) return early[round];
    return read(program, place, round, lane);
  }
};

template <class C>
__device__ typename C::Wide part_of(const typename C::Outputs& outputs, Index i) {
  if constexpr (C::kHalves)
    return outputs[i];
  else
    return pack<typename C::Wide>(outputs + i * C::kWide);
}

/// The outputs of a layer take the places of its inputs.
template <class C>
__device__ void write_layer(const Program& program, std::size_t place, typename C::Stored* tile, const Lane<C>& lane,
                            const Targets<C>& targets, Index chunks_of_lane,
                            const typename C::Outputs (&out)[C::kRounds]) {
  auto* rows = reinterpret_cast<typename C::Wide*>(tile);
#pragma unroll
  for (Index round = 0; round < C::kRounds; ++round) {
    if (__shfl_sync(0xffffffffU, chunks_of_lane, round) == kNoBundle) continue;
    const std::uint32_t target = targets.get(program, place, round, lane);
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i) {
      const auto y = part_of<C>(out[round], i);
      rows[(target & 0xffffU) * C::kPitch + lane.part[i]] = y;
      if (C::kCopies && target >> 16U != kNoCopy) rows[(target >> 16U) * C::kPitch + lane.part[i]] = y;
    }
  }
}

}  // namespace spdnn::cuda::resident
