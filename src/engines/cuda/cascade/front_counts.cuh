#pragma once

// Layer 0 of a front: counts of terms that are 1, in bit planes, 32 of them in a thread.

#include "engines/cuda/cascade/front_team.cuh"
#include "engines/cuda/cascade/planes.cuh"

namespace spdnn::cuda::cascade {

/// Some words that are read at once.
template <Index kCount>
struct alignas(4 * kCount) WordVector {
  std::uint32_t words[kCount];
};

/// Reads the words that hold the inputs of kCount * 32 classes of an image, the first of which is 32 kCount first;
/// those of kNoImage are 0.
template <class Shape, Index kCount>
__device__ void read_bits(const FrontView& front, Index image, Index first,
                          std::uint32_t (&words)[kCount][kMostFrontWords]) {
  using Vector = WordVector<kCount>;
  const auto* from = reinterpret_cast<const Vector*>(front.bits + std::size_t{image} * front.bits_pitch) + first;
#pragma unroll
  for (Index k = 0; k < kMostFrontWords; ++k) {
    const bool exists = image != kNoImage && k < front.words_per_class;
    const Vector vector = exists ? read_once(from + k * (Shape::kWords / kCount)) : Vector{};
#pragma unroll
    for (Index i = 0; i < kCount; ++i) words[i][k] = vector.words[i];
  }
}

/// A team counts the words of its images, one in each thread.
template <class Shape>
struct FrontCounts {
  const FrontView& front;
  const FrontTeam<Shape>& team;
  std::uint8_t* counts;   ///< in shared memory, one for each slot
  std::uint32_t* planes;  ///< likewise, 5 words per thread; unused in a team of one warp

  /// Counts classes, adds those of a neuron, and writes its count. Returns one bit per neuron: its activation is above
  /// 0. Others may read the counts after a barrier.
  __device__ std::uint32_t count(const std::uint32_t (&words)[kMostFrontWords]) const {
    std::uint32_t own[5];
    count_words(words, own);
    std::uint32_t next[5];
    next_word(own, next);
    std::uint32_t sums[6];
    add_ahead(own, next, front.class_shift, sums);
    store_planes(sums, counts + 32 * team.thread);
    return at_least(sums, front.threshold);
  }

 private:
  /// The planes of the same image's next word. By all threads of the team.
  __device__ void next_word(const std::uint32_t (&own)[5], std::uint32_t (&next)[5]) const {
    const Index image = team.thread / Shape::kWords * Shape::kWords;
    const Index other = image + (team.thread + 1) % Shape::kWords;
    if constexpr (Shape::kWarps == 1) {
#pragma unroll
      for (Index b = 0; b < 5; ++b) next[b] = __shfl_sync(0xffffffffU, own[b], static_cast<int>(other));
    } else {
#pragma unroll
      for (Index b = 0; b < 5; ++b) planes[b * Shape::kTeamWords + team.thread] = own[b];
      team.sync();
#pragma unroll
      for (Index b = 0; b < 5; ++b) next[b] = planes[b * Shape::kTeamWords + other];
    }
  }
};

}  // namespace spdnn::cuda::cascade
