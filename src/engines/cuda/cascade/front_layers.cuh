#pragma once

// The layers of a front on a team's images. Where all inputs of a neuron are zero, so is the neuron: a warp lists the
// octets (eight neighbouring slots) of its words that have an input above 0, and computes these alone.

#include "engines/cuda/cascade/front_counts.cuh"

namespace spdnn::cuda::cascade {

template <class Shape>
struct FrontLayers {
  const FrontView& front;
  FrontMemory<Shape>& memory;
  const float* pair_table;  ///< in shared memory
  FrontTeam<Shape> team;

  static constexpr Index kOctets = 4 * 32;  ///< of a warp, a multiple of the eight that it computes at a time

  /// Whether a lane's word is one of layer `number`.
  __device__ bool has_word(Index number, Index lane) const {
    return number + 1 < front.until || team.own_word(lane) % Shape::kWords < front.outputs / 32;
  }

  /// The mask of this lane's word after layer 0.
  __device__ std::uint32_t counted() const { return memory.masks[0][team.own_word(team.lane)]; }

  /// One bit per slot of this lane's word in layer `number`: it has an input above 0, that of its own number or the one
  /// `shift` ahead.
  __device__ std::uint32_t with_inputs(Index number, Index shift) const {
    if (!has_word(number, team.lane)) return 0;
    const std::uint32_t* masks = memory.masks[(number - 1) % 2];
    const Index word = team.own_word(team.lane);
    const Index image = word & ~(Shape::kWords - 1);
    const auto mask_at = [&](Index ahead) { return masks[image | ((word + ahead) & (Shape::kWords - 1))]; };
    return mask_at(0) | __funnelshift_r(mask_at(shift / 32), mask_at(shift / 32 + 1), shift % 32);
  }

  /// Lists the first slots of this warp's octets: first those that have a bit in some lane's `slots`, then the others,
  /// whose activations are all 0. Returns the number of the former.
  __device__ Index list_octets(std::uint32_t slots) const {
    std::uint16_t* list = memory.octets[team.warp];
    const Index own = 32 * team.own_word(team.lane);
    const std::uint32_t before = (1U << team.lane) - 1;
    Index count = 0;
#pragma unroll
    for (Index k = 0; k < 4; ++k) {
      const bool listed = (slots & 0xffU << (8 * k)) != 0;
      const std::uint32_t lanes = __ballot_sync(0xffffffffU, listed);
      const Index place = count + __popc(lanes & before);
      list[listed ? place : kOctets - 1 - (32 * k + team.lane - place)] = static_cast<std::uint16_t>(own + 8 * k);
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

  /// Runs layer `number`: `compute` makes two neighbouring activations of the slots of their first and of their other
  /// inputs; shifts are even, so that these are neighbours too. Returns the mask of this lane's word, whose bits stand
  /// for octets: all eight are set where one slot is above 0.
  template <class Compute>
  __device__ std::uint32_t run(Index number, Index shift, float* values, Compute compute) const {
    std::uint32_t* const masks = memory.masks[number % 2];
    const std::uint16_t* const list = memory.octets[team.warp] + team.lane / 4;
    const std::uint32_t slots = with_inputs(number, shift);
    masks[team.own_word(team.lane)] = 0;
    clear(values);
    const Index count = list_octets(slots);
    __syncwarp();
    for (Index begin = 0; begin < count; begin += 8) {
      const Index slot = list[begin] + team.lane % 4 * 2;
      const Index other = slot ^ ((slot ^ (slot + shift)) & (Shape::kNeurons - 1));
      const float2 y = compute(min(slot, other), max(slot, other));
      *reinterpret_cast<float2*>(values + slot) = y;
      if (fmaxf(y.x, y.y) > 0.0F) reinterpret_cast<std::uint8_t*>(masks)[slot / 8] = 0xff;
    }
    __syncwarp();
    return masks[team.own_word(team.lane)];
  }

  /// Layer 1, by the table.
  __device__ std::uint32_t look_up() const {
    const auto* counts = reinterpret_cast<const std::uint16_t*>(memory.counts());
    return run(1, front.steps[1].shift, memory.values[1], [&](Index first, Index second) {
      const std::uint32_t a = counts[first / 2];
      const std::uint32_t b = counts[second / 2];
      return make_float2(pair_table[(a & 0xffU) * kTablePitch + (b & 0xffU)],
                         pair_table[(a >> 8U) * kTablePitch + (b >> 8U)]);
    });
  }

  /// A layer after that, by sums.
  __device__ std::uint32_t add(Index number, const float* values, float* to) const {
    constexpr Index kTogether = 16;  // pairs: those of the official networks
    const FrontLayer layer = front.steps[number];
    const float cap = front.cap;
    return run(number, layer.shift, to, [&](Index first, Index second) {
      const float2 a = *reinterpret_cast<const float2*>(values + first);
      const float2 b = *reinterpret_cast<const float2*>(values + second);
      float2 z{0.0F, 0.0F};
      const auto add_pair = [&] {
        z.x = fmaf(a.x, layer.weight, z.x);
        z.y = fmaf(a.y, layer.weight, z.y);
        z.x = fmaf(b.x, layer.weight, z.x);
        z.y = fmaf(b.y, layer.weight, z.y);
      };
      Index left = layer.pairs;
#pragma unroll 1
      for (; left >= kTogether; left -= kTogether) {
#pragma unroll
        for (Index pair = 0; pair < kTogether; ++pair) add_pair();
      }
#pragma unroll 1
      for (; left > 0; --left) add_pair();
      return make_float2(fminf(fmaxf(z.x + layer.bias, 0.0F), cap), fminf(fmaxf(z.y + layer.bias, 0.0F), cap));
    });
  }

  /// Whether a value is below the cap after layer `number`, of the words of `lanes` lanes from `first` on. By whole
  /// warps.
  __device__ bool below_cap(Index number, Index first, Index lanes) const {
    for (Index i = first; i < first + lanes && has_word(number, i); ++i) {
      const Index slot = 32 * team.own_word(i) + team.lane;
      const float y = number == 0 ? front.activations[memory.counts()[slot]] : memory.values[number % 2][slot];
      if (__any_sync(0xffffffffU, y < front.cap)) return true;
    }
    return false;
  }
};

}  // namespace spdnn::cuda::cascade
