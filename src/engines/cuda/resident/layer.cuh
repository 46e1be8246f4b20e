#pragma once

// One layer of the `resident` engine on a tile in shared memory; kernel.cuh describes mapping and cost.

#include "engines/cuda/resident/split.cuh"

namespace spdnn::cuda::resident {

/// A whole bundle: `sums` become this thread's activations of its neuron. `word` and `at`: of the round.
template <class C, bool kBits>
__device__ void run_bundle(const LayerRun<C>& run, Index word, std::size_t at, Reader<C>& reader, Flags& flags,
                           float (&sums)[C::kLaneImages]) {
  const LayerInfo& info = run.info;
  const Lane<C>& lane = run.lane;
#pragma unroll
  for (Index i = 0; i < C::kLaneImages; ++i) sums[i] = 0.0F;
  const Index number = word & ~round_kind::kMask;
  const float bias = run.layout.biases != nullptr ? run.layout.biases[at + lane.neuron] : info.bias;
  if (!kBits && (word & round_kind::kMask) == round_kind::kAlternating) {
    add_alternating<C>(run.rows, reader.next(lane), number, info.weight, lane, sums);
  } else {
#pragma unroll 1
    for (Index k = 0; k < number / 2; ++k)
      add_terms<C, kBits, kChunkTerms>(run.rows, reader.next(lane), info.weight, lane, sums);
    if (C::kUneven && number % 2 != 0)
      add_terms<C, kBits, kHalfTerms>(run.rows, reader.next(lane), info.weight, lane, sums);
  }
  activate<C>(run, bias, flags, sums);
}

/// One layer: `out` receives this thread's activations. Returns this thread's flags of the tile's images; those of
/// split rounds go to LayerRun::seen. `words`: of round `lane`, see round_kind.
template <class C, bool kBits>
__device__ Flags run_layer(const LayerRun<C>& run, Index words, Reader<C>& reader,
                           typename C::Outputs (&out)[C::kRounds]) {
  Flags mine{};
  stagger<C>(words);
#pragma unroll
  for (Index round = 0; round < C::kRounds; ++round) {
    const Index word = __shfl_sync(0xffffffffU, words, round);
    const std::size_t at = (run.place * C::kRounds + round) * C::kBundle;
    if (word == round_kind::kIdle) {
      for (auto& y : out[round]) y = {};  // leaving it undefined costs registers
      continue;
    }
    if constexpr (C::kUneven && !kBits) {
      if (round == 0 && is_split(word)) {
        run_split<C>(run, at, reader, out[round]);
        continue;
      }
    }
    if constexpr (C::kHalves) {
      float sums[C::kLaneImages];
      run_bundle<C, kBits>(run, word, at, reader, mine, sums);
#pragma unroll
      for (Index i = 0; i < C::kParts; ++i) out[round][i] = pack<typename C::Wide>(sums + i * C::kWide);
    } else {
      run_bundle<C, kBits>(run, word, at, reader, mine, out[round]);
    }
  }
  return mine;
}

/// The positions of this thread's outputs; read before the barrier if registers allow.
template <class C>
struct Targets {
  static constexpr bool kEarly = C::kRounds <= 4;
  std::uint32_t early[kEarly ? C::kRounds : 1];

  __device__ static std::uint32_t read(const LayerRun<C>& run, Index round) {
    return __ldg(run.layout.targets + (run.place * C::kRounds + round) * C::kBundle + run.lane.neuron);
  }
  __device__ explicit Targets(const LayerRun<C>& run) {
    if constexpr (kEarly) {
#pragma unroll
      for (Index round = 0; round < C::kRounds; ++round) early[round] = read(run, round);
    }
  }
  __device__ std::uint32_t get(const LayerRun<C>& run, Index round) const {
    if constexpr (kEarly) return early[round];
    return read(run, round);
  }
};

template <class C>
__device__ typename C::Wide part_of(const typename C::Outputs& outputs, Index i) {
  if constexpr (C::kHalves)
    return outputs[i];
  else
    return pack<typename C::Wide>(outputs + i * C::kWide);
}

/// The outputs of a layer overwrite its inputs.
template <class C>
__device__ void write_layer(const LayerRun<C>& run, const Targets<C>& targets, Index words,
                            const typename C::Outputs (&out)[C::kRounds], typename C::Stored* tile) {
  auto* rows = reinterpret_cast<typename C::Wide*>(tile);
#pragma unroll
  for (Index round = 0; round < C::kRounds; ++round) {
    const Index word = __shfl_sync(0xffffffffU, words, round);
    if (word == round_kind::kIdle) continue;
    if constexpr (C::kUneven) {
      if (round == 0 && is_split(word)) {
        write_split<C>(run, (run.place * C::kRounds + round) * C::kBundle, out[round], tile);
        continue;
      }
    }
    const std::uint32_t target = targets.get(run, round);
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i) {
      const auto y = part_of<C>(out[round], i);
      rows[(target & 0xffffU) * C::kPitch + run.lane.part(i)] = y;
      if (C::kReplicas && target >> 16U != kNoReplica) rows[(target >> 16U) * C::kPitch + run.lane.part(i)] = y;
    }
  }
}

}  // namespace spdnn::cuda::resident
