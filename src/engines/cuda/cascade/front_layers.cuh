#pragma once

// The layers of a front on a team's images. Where all inputs of a neuron are zero, so is the neuron: a warp lists the
// octets (eight neighbouring slots) of its words that have an input above 0, and computes these alone.

#include "engines/cuda/cascade/front_team.cuh"
#include "engines/cuda/cascade/planes.cuh"

namespace spdnn::cuda::cascade {

template <class Shape>
struct FrontLayers {
  const FrontView& front;
  FrontMemory<Shape>& memory;
  const float* pair_table;  ///< in shared memory
  FrontTeam<Shape> team;

  static constexpr Index kBits = 6;  ///< of a count

  /// Whether this lane's word is one of layer `number`.
  __device__ bool has_word(Index number) const {
    return number + 1 < front.until || team.own_word(team.lane) % Shape::kWords < front.outputs / 32;
  }

  /// Reads this thread's words of the images' bits; images from `end` on have none.
  __device__ void read_bits(Index first, Index end, std::uint32_t (&words)[kMostFrontWords]) const {
    const Index image = first + team.thread / Shape::kWords;
    const bool exists = image < end;
    const std::uint32_t* from = front.bits + std::size_t{image} * front.bits_pitch + team.thread % Shape::kWords;
#pragma unroll
    for (Index k = 0; k < kMostFrontWords; ++k)
      words[k] = exists && k < front.words_per_class ? __ldcs(from + k * Shape::kWords) : 0;
  }

  /// Layer 0: counts classes in bit planes, 32 of them in a thread, adds those of a neuron, and writes counts and marks
  /// of activations above 0. Ends with a barrier.
  __device__ void count(const std::uint32_t (&words)[kMostFrontWords]) const {
    std::uint32_t own[kBits - 1] = {};
#pragma unroll
    for (Index k = 0; k < kMostFrontWords; k += 4) add_words({words[k], words[k + 1], words[k + 2], words[k + 3]}, own);
    std::uint32_t next[kBits - 1];
    next_word(own, next);
    std::uint32_t counts[kBits];
    std::uint32_t carry = 0;
#pragma unroll
    for (Index b = 0; b + 1 < kBits; ++b) {
      const std::uint32_t other = __funnelshift_r(own[b], next[b], front.class_shift);
      counts[b] = own[b] ^ other ^ carry;
      carry = majority(own[b], other, carry);
    }
    counts[kBits - 1] = carry;
    memory.masks[0][team.thread] = at_least(counts, front.threshold);
    store_planes(counts, memory.counts() + 32 * team.thread);
    if (Shape::kWarps > 1 && team.thread < 4) memory.marks[team.thread] = {};
    team.sync();
  }

  /// The mask that count() wrote of this lane's word.
  __device__ std::uint32_t counted() const { return memory.masks[0][team.own_word(team.lane)]; }

  /// The planes of the same image's next word. By all threads of the team.
  __device__ void next_word(const std::uint32_t (&own)[kBits - 1], std::uint32_t (&next)[kBits - 1]) const {
    const Index image = team.thread / Shape::kWords * Shape::kWords;
    const Index other = image + (team.thread + 1) % Shape::kWords;
    if constexpr (Shape::kWarps == 1) {
#pragma unroll
      for (Index b = 0; b + 1 < kBits; ++b) next[b] = __shfl_sync(0xffffffffU, own[b], static_cast<int>(other));
    } else {
      auto* planes = reinterpret_cast<std::uint32_t*>(memory.values[1]);
#pragma unroll
      for (Index b = 0; b + 1 < kBits; ++b) planes[b * Shape::kTeamWords + team.thread] = own[b];
      team.sync();
#pragma unroll
      for (Index b = 0; b + 1 < kBits; ++b) next[b] = planes[b * Shape::kTeamWords + other];
    }
  }

  /// One bit per count: it is at least `threshold`, which is not 0.
  static __device__ std::uint32_t at_least(const std::uint32_t (&counts)[kBits], Index threshold) {
    std::uint32_t more = 0;
    std::uint32_t equal = 0xffffffffU;
#pragma unroll
    for (Index b = kBits; b-- > 0;) {
      const std::uint32_t bits = ((threshold - 1) >> b & 1U) != 0 ? 0xffffffffU : 0;
      more |= equal & counts[b] & ~bits;
      equal &= ~(counts[b] ^ bits);
    }
    return more;
  }

  /// One bit per slot of this lane's word in layer `number`: it has an input above 0.
  __device__ std::uint32_t with_inputs(Index number) const {
    if (!has_word(number)) return 0;
    const std::uint32_t* masks = memory.masks[(number - 1) % 2];
    const Index shift = front.steps[number].shift;
    const Index word = team.own_word(team.lane);
    const Index image = word / Shape::kWords * Shape::kWords;
    const auto mask_at = [&](Index ahead) { return masks[image + (word + ahead) % Shape::kWords]; };
    return mask_at(0) | __funnelshift_r(mask_at(shift / 32), mask_at(shift / 32 + 1), shift % 32);
  }

  /// Lists the octets of this warp's words that have a bit in some lane's `slots`; returns their number.
  __device__ Index list_octets(std::uint32_t slots) const {
    std::uint16_t* list = memory.octets[team.warp];
    const Index octet = 4 * team.own_word(team.lane);
    Index count = 0;
#pragma unroll
    for (Index k = 0; k < 4; ++k) {
      const bool listed = (slots >> (8 * k) & 0xffU) != 0;
      const std::uint32_t lanes = __ballot_sync(0xffffffffU, listed);
      if (listed) list[count + __popc(lanes & ((1U << team.lane) - 1))] = static_cast<std::uint16_t>(octet + k);
      count += __popc(lanes);
    }
    return count;
  }

  /// Sets the values of this warp's words to 0.
  __device__ void clear(float* values) const {
#pragma unroll
    for (Index i = 0; i < 32; i += 4)
      *reinterpret_cast<float4*>(values + 32 * team.own_word(i + team.lane / 8) + team.lane % 8 * 4) =
          make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  }

  /// Runs layer `number`: `compute` makes two activations at once of the slots of their first and of their other
  /// inputs. Returns the mask of this lane's word.
  template <class Compute>
  __device__ std::uint32_t run(Index number, Compute compute) const {
    float* const values = memory.values[number % 2];
    std::uint32_t* const masks = memory.masks[number % 2];
    const std::uint16_t* const list = memory.octets[team.warp];
    const Index shift = front.steps[number].shift;
    const std::uint32_t slots = with_inputs(number);
    masks[team.own_word(team.lane)] = 0;
    clear(values);
    const Index count = list_octets(slots);
    __syncwarp();
    for (Index i = 0; i < count; i += 8) {
      Index slot[2];
      Index first[2];
      Index second[2];
      bool exists[2];
#pragma unroll
      for (Index k = 0; k < 2; ++k) {
        const Index at = i + 4 * k + team.lane / 8;
        exists[k] = at < count;
        slot[k] = list[exists[k] ? at : count - 1] * 8 + team.lane % 8;
        const Index other = (slot[k] & ~(Shape::kNeurons - 1)) | ((slot[k] + shift) & (Shape::kNeurons - 1));
        first[k] = min(slot[k], other);
        second[k] = max(slot[k], other);
      }
      float y[2];
      compute(first, second, y);
#pragma unroll
      for (Index k = 0; k < 2; ++k) {
        const std::uint32_t live = __ballot_sync(0xffffffffU, y[k] > 0.0F);
        if (!exists[k]) continue;
        values[slot[k]] = y[k];
        if (team.lane % 8 == 0)
          reinterpret_cast<std::uint8_t*>(masks)[slot[k] / 8] = static_cast<std::uint8_t>(live >> team.lane);
      }
    }
    __syncwarp();
    return masks[team.own_word(team.lane)];
  }

  /// Layer 1, by the table.
  __device__ std::uint32_t look_up() const {
    const std::uint8_t* counts = memory.counts();
    return run(1, [&](const Index(&first)[2], const Index(&second)[2], float(&y)[2]) {
#pragma unroll
      for (Index k = 0; k < 2; ++k) y[k] = pair_table[counts[first[k]] * kTablePitch + counts[second[k]]];
    });
  }

  /// A layer after that, by sums.
  __device__ std::uint32_t add(Index number) const {
    const FrontLayer& layer = front.steps[number];
    const float* values = memory.values[(number - 1) % 2];
    return run(number, [&](const Index(&first)[2], const Index(&second)[2], float(&y)[2]) {
      const float a[2] = {values[first[0]], values[first[1]]};
      const float b[2] = {values[second[0]], values[second[1]]};
      float z[2] = {0.0F, 0.0F};
#pragma unroll 8
      for (Index pair = 0; pair < layer.pairs; ++pair) {
#pragma unroll
        for (Index k = 0; k < 2; ++k) z[k] = fmaf(a[k], layer.weight, z[k]);
#pragma unroll
        for (Index k = 0; k < 2; ++k) z[k] = fmaf(b[k], layer.weight, z[k]);
      }
#pragma unroll
      for (Index k = 0; k < 2; ++k) y[k] = fminf(fmaxf(z[k] + layer.bias, 0.0F), front.cap);
    });
  }

  /// Whether a value of this lane's word is below the cap after layer `number`. Slow, and seldom needed.
  __device__ bool below_cap(Index number) const {
    bool below = false;
    for (Index i = 0; i < 32; ++i) {
      const Index slot = 32 * team.own_word(team.lane) + i;
      const float y = number == 0 ? front.activations[memory.counts()[slot]] : memory.values[number % 2][slot];
      below = below || y < front.cap;
    }
    return below;
  }
};

}  // namespace spdnn::cuda::cascade
