#pragma once

// The filter of a front (front_filter.hpp) on a team's images: it removes those that die in the front.

#include "engines/cuda/cascade/front_team.cuh"

namespace spdnn::cuda::cascade {

/// A team's images on their way through the filter, as one thread sees them. A thread follows 16 pairs of neighbouring
/// neurons, which are as far apart as the team has threads: a warp reads neighbouring words of shared memory, whatever
/// the shift of the layer. Sets of images have bit i for image i here.
template <class Shape>
class FilteredImages {
 public:
  __device__ FilteredImages(const FrontView& front, FrontMemory<Shape>& memory, const FrontTeam<Shape>& team)
      : front_(front), memory_(memory), team_(team) {}

  /// Those of the first `count` images that live to the end of the front, or may; where there are any, the others
  /// become zero. Adds to `live_images` how many of the others live after layer `team.thread`. memory.counts() and
  /// memory.masks[0] are what layer 0 left. By all threads of the team; ends with a barrier.
  __device__ std::uint32_t without_dead(Index count, Index& live_images) {
    if constexpr (Shape::kWarps > 1) {
      if (team_.thread < 4) memory_.filtered[team_.thread] = {};
      team_.sync();
    }
    read_counts();
    std::uint32_t followed = (1U << count) - 1;
    std::uint32_t undecided = 0;
    for (Index number = 0; number < front_.until && followed != 0; ++number) {
      const Sets sets = together(number, number == 0                 ? live_after_layer_0()
                                         : number + 1 < front_.until ? add<false>(number)
                                                                     : add<true>(number));
      undecided |= followed & sets.may_live & ~sets.live;
      if (team_.thread < number) live_images += static_cast<Index>(__popc(followed & ~sets.may_live));
      followed &= sets.live;
    }
    const std::uint32_t left = followed | undecided;
    if (left != 0) {
      if ((left >> team_.thread / Shape::kWords & 1U) == 0) clear();
      team_.sync();
    }
    return left;
  }

 private:
  static constexpr Index kThreads = 32 * Shape::kWarps;  ///< of the team
  static constexpr Index kImagePairs = Shape::kNeurons / 2;
  static constexpr Index kOfImage = kImagePairs / kThreads;   ///< pairs of an image that a thread follows
  static constexpr Index kPairs = Shape::kImages * kOfImage;  ///< of all images
  static_assert(kPairs == 16);

  struct Sets {
    std::uint32_t live;
    std::uint32_t may_live;
  };

  /// The pairs after layer `number`, behind the counts.
  __device__ std::uint32_t* side(Index number) const {
    static_assert(Shape::kSlots + 2 * sizeof(std::uint32_t) * kPairs * kThreads <= sizeof(memory_.values));
    return reinterpret_cast<std::uint32_t*>(memory_.counts() + Shape::kSlots) + number % 2 * (kPairs * kThreads);
  }

  /// Makes a word zero after layer 0.
  __device__ void clear() const {
    memory_.masks[0][team_.thread] = 0;
    auto* counts = reinterpret_cast<uint4*>(memory_.counts() + 32 * team_.thread);
    counts[0] = counts[1] = make_uint4(0, 0, 0, 0);
  }

  /// The activations of layer 0.
  __device__ void read_counts() {
    const FilterView& filter = front_.filter;
    const auto* counts = reinterpret_cast<const std::uint16_t*>(memory_.counts());
    std::uint32_t* to = side(0);
#pragma unroll
    for (Index k = 0; k < kPairs; ++k) {
      const Index at = team_.thread + kThreads * k;
      const std::uint32_t pair = __byte_perm(counts[at], 0, 0x4140);
      to[at] = own_[k] = __viaddmin_s16x2_relu(pair * filter.weight, filter.biases[0], filter.cap);
    }
  }

  /// The images of which this thread's word has an activation above 0 after layer 0.
  __device__ Sets live_after_layer_0() const {
    const std::uint32_t live = memory_.masks[0][team_.thread] != 0 ? 1U << team_.thread / Shape::kWords : 0;
    return {live, live};
  }

  /// Layer `number`, 1 or later. Returns the images of which a pair of this thread's is above 0, or may be.
  template <bool kLast>
  __device__ Sets add(Index number) {
    constexpr std::uint32_t kLowest = (0U - kFilterMost) % 0x10000U * 0x10001U;
    constexpr std::uint32_t kOnes = 0x10001U;
    const FilterView& filter = front_.filter;
    const std::uint32_t bias = filter.biases[number];
    const std::uint32_t cap = filter.cap;
    const std::uint32_t below = filter.below[number];
    const std::uint32_t margin = filter.margins[number];
    const Index shift = front_.steps[number].shift / 2;
    const std::uint32_t* const from = side(number - 1);
    std::uint32_t* const to = side(number) + team_.thread;
    Sets sets{0, 0};  // of either half
#pragma unroll
    for (Index image = 0; image < Shape::kImages; ++image) {
      std::uint32_t most = kLowest;
#pragma unroll
      for (Index i = 0; i < kOfImage; ++i) {
        const Index k = image * kOfImage + i;
        const Index pair = team_.thread + kThreads * i;
        const std::uint32_t sum = own_[k] + from[image * kImagePairs + (pair + shift) % kImagePairs];
        const bool exists = !kLast || pair < front_.outputs / 2;
        most = __viaddmax_s16x2(sum, exists ? bias : kLowest, most);
        to[kThreads * k] = own_[k] = __viaddmin_s16x2_relu(sum, bias, cap);
      }
      sets.live |= __viaddmin_s16x2_relu(most, below, kOnes) << image;
      sets.may_live |= __viaddmin_s16x2_relu(most, margin, kOnes) << image;
    }
    return {sets.live | sets.live >> 16U, sets.may_live | sets.may_live >> 16U};
  }

  /// What the threads of the team find together; a barrier.
  __device__ Sets together(Index number, Sets sets) const {
    constexpr std::uint32_t kAll = (1U << Shape::kImages) - 1;
    sets.live = __reduce_or_sync(0xffffffffU, sets.live & kAll);
    sets.may_live = __reduce_or_sync(0xffffffffU, sets.may_live & kAll);
    if constexpr (Shape::kWarps == 1) {
      team_.sync();
    } else {
      FilterMarks& all = memory_.filtered[number % 4];
      if (team_.lane == 0 && sets.live != 0) all.lives = 1;
      if (team_.lane == 0 && sets.may_live != 0) all.may_live = 1;
      if (team_.thread == 0) memory_.filtered[(number + 2) % 4] = {};
      team_.sync();
      sets = {all.lives, all.may_live};
    }
    return sets;
  }

  const FrontView& front_;
  FrontMemory<Shape>& memory_;
  const FrontTeam<Shape>& team_;
  std::uint32_t own_[kPairs];  ///< after the latest layer
};

}  // namespace spdnn::cuda::cascade
