#pragma once

// front_kernel: the front of a plan (front_program.hpp) in place of count_kernel and the first launch of
// cascade_kernel. Most pixels are off, and most activations of the first layers are zero: only sums that have an input
// above 0 are added up.
//
// Work. The images are those that filter_kernel has kept, or all where there is no filter. A team of warps takes a
// batch of them at a time: one image of 1024 neurons or more, several of fewer. Layer 0 counts bits in planes, layer 1
// is looked up by two counts, the others add their terms in the plan's order. Images that retire list nothing.
// Survivors go to device memory, as those of cascade_kernel do.
//
// Mapping. front_team.cuh has the shapes: 1024 slots in shared memory for each warp, one lane per word of 32 slots in
// layer 0 and in masks, four lanes per octet in the other layers. The bits of a team's next batch are read while it
// computes. Teams never wait for one another, and count images in the shared memory of their block: atomic operations
// on one word of device memory follow one another at a few cycles each.
//
// Bound. Instruction issue; where neurons are few, the latency of a layer. results/h200/roofline.md has measurements.

#include "engines/cuda/cascade/ends_of_launches.cuh"
#include "engines/cuda/cascade/front_layers.cuh"
#include "engines/cuda/cascade/front_share.hpp"
#include "engines/cuda/cascade/survivors.cuh"
#include "engines/cuda/cascade/tables.cuh"

namespace spdnn::cuda::cascade {

/// The number of the i-th image that front_kernel computes.
__device__ inline Index number_of(const FrontView& front, Index i) {
  return front.kept.images != nullptr ? __ldcg(front.kept.images + i) : i;
}

/// A batch of images on its way through the front, as one thread sees it.
template <class Shape>
struct FrontBatch {
  const FrontView& front;
  const LaunchArgs& args;
  const FrontLayers<Shape>& layers;
  Index* saturated_images;  ///< of the block, by layer
  Index first;              ///< of the images that the kernel computes
  std::uint32_t all;        ///< of the batch
  std::uint32_t live = 0;
  std::uint32_t saturated = 0;

  static constexpr Index kLanes = Shape::kLanes;

  /// Notes what layer `number` leaves of the images, `mask` being that of this lane's word, and retires those at the
  /// cap. By all threads of the team.
  __device__ void note(Index number, std::uint32_t mask) {
    const FrontTeam<Shape>& team = layers.team;
    const bool has_word = layers.has_word(number, team.lane);
    const bool may_saturate = number + 1 >= front.saturated_from;
    live = Shape::images_of(__ballot_sync(0xffffffffU, has_word && mask != 0)) & ~saturated;
    std::uint32_t below = 0;
    if (may_saturate) {
      below = Shape::images_of(__ballot_sync(0xffffffffU, has_word && mask != 0xffffffffU));
      for (std::uint32_t left = live & ~below; left != 0; left &= left - 1) {
        const Index lane = __ffs(static_cast<int>(left)) - 1;
        if (layers.below_cap(number, lane, Shape::kWarps == 1 ? kLanes : 32)) below |= 1U << lane;
      }
    }
    if constexpr (Shape::kWarps > 1) {
      Marks* const marks = layers.memory.marks;
      if (team.lane == 0 && live != 0) marks[number % 4].live = 1;
      if (team.lane == 0 && below != 0) marks[number % 4].below_cap = 1;
      if (team.thread == 0) marks[(number + 2) % 4] = {};
      team.sync();
      live = marks[number % 4].live;
      below = marks[number % 4].below_cap;
    }
    const std::uint32_t at_cap = may_saturate ? live & ~below : 0;
    if (at_cap != 0) retire_at_cap(number, at_cap);
  }

  /// Images whose activations are all at the cap after layer `number` become categories and list nothing from then on.
  __device__ void retire_at_cap(Index number, std::uint32_t at_cap) {
    const FrontTeam<Shape>& team = layers.team;
    saturated |= at_cap;
    if (team.warp == 0 && (at_cap >> team.lane & 1U) != 0) {
      const Index image = number_of(front, first + team.lane / kLanes);
      atomicOr(args.categories + image / 32, 1U << image % 32);
    }
    if (team.thread == 0) atomicAdd(&saturated_images[number], static_cast<Index>(__popc(at_cap)));
    if ((at_cap & own_image()) != 0) layers.memory.masks[number % 2][team.own_word(team.lane)] = 0;
    __syncwarp();
  }

  /// The image of this lane's word.
  __device__ std::uint32_t own_image() const {
    return 1U << (layers.team.own_word(layers.team.lane) / Shape::kWords * kLanes);
  }

  /// Images that have not retired: those that are all zero have, if that is certain.
  __device__ std::uint32_t active() const { return front.keeps_zero ? all & ~saturated : live & ~saturated; }

  /// Writes the active images to `out` after the last layer.
  __device__ void save() const {
    FrontMemory<Shape>& memory = layers.memory;
    const FrontTeam<Shape>& team = layers.team;
    const bool offered = args.search.list != nullptr;
    if (team.thread == 0) {
      memory.place = atomicAdd(args.out.count, static_cast<Index>(__popc(active())));
      memory.hash = 0;
    }
    team.sync();
    Index place = memory.place;
    for (std::uint32_t left = active(); left != 0; left &= left - 1, ++place) {
      const Index image = (__ffs(static_cast<int>(left)) - 1) / kLanes;
      const auto* from =
          reinterpret_cast<const float4*>(memory.values[(front.until - 1) % 2] + image * Shape::kNeurons);
      auto* to = reinterpret_cast<float4*>(args.out.rows + std::size_t{place} * args.out.stride);
      std::uint32_t sum = 0;
      for (Index i = team.thread; i < front.outputs / 4; i += 32 * Shape::kWarps) {
        const float4 four = from[i];
        __stcg(to + i, four);
        sum += row_hash_share(4 * i, four.x) + row_hash_share(4 * i + 1, four.y) + row_hash_share(4 * i + 2, four.z) +
               row_hash_share(4 * i + 3, four.w);
      }
      if (team.thread == 0) args.out.images[place] = number_of(front, first + image);
      if (!offered) continue;
      sum = __reduce_add_sync(0xffffffffU, sum);
      if (team.lane == 0) atomicAdd(&memory.hash, sum);
      team.sync();
      if (team.thread == 0) {
        offer_row(args.search, kSide, epoch_of(args), place, row_hash(memory.hash));
        memory.hash = 0;
      }
      team.sync();
    }
  }
};

/// The next work of a team, as its first thread sees it: a batch of its block's share, or one of those that all blocks
/// take from in the end.
struct FrontTicket {
  Index own = 0;     ///< number in the block's share; from FrontShare::own_batches on, there is none
  Index common = 0;  ///< otherwise

  __device__ static FrontTicket take(const FrontShare& share, Index& taken, Index* next) {
    FrontTicket ticket;
    ticket.own = atomicAdd(&taken, 1U);
    if (ticket.own >= share.own_batches) ticket.common = atomicAdd(next, 1U);
    return ticket;
  }
  __device__ FrontImages images(const FrontShare& share, Index all) const {
    const bool dealt = own < share.own_batches;
    const Index most = dealt ? share.large_batch : share.small_batch;
    const Index first = dealt ? (own * gridDim.x + blockIdx.x) * most
                              : share.own_batches * gridDim.x * share.large_batch + common * most;
    return {first, first < all ? min(all - first, most) : 0};
  }
};

template <Index kLog>
__global__ void __launch_bounds__(FrontShape<kLog>::kThreads, 1)
    front_kernel(const __grid_constant__ FrontView front, const __grid_constant__ LaunchArgs args) {
  using Shape = FrontShape<kLog>;
  auto& block = *dynamic_shared<FrontBlock<Shape>>();
  if (threadIdx.x == 0) block.taken = 0;
  if (threadIdx.x < kMostFrontLayers) block.live[threadIdx.x] = block.saturated[threadIdx.x] = 0;
  copy_table(front.pair_table, block.pair_table, Shape::kThreads);
  await_previous_kernel();
  const Index all = front.kept.images != nullptr ? __ldcg(front.kept.count) : args.images;
  const FrontShare share = divide_images(all, gridDim.x, Shape::kTeams, Shape::kImages);
  __syncthreads();
  const FrontTeam<Shape> team;
  FrontMemory<Shape>& memory = block.teams[team.number];
  const FrontCounts<Shape> counts{front, team, memory.counts(), memory.planes()};
  const FrontLayers<Shape> layers{front, memory, block.pair_table, team};

  Index live_images = 0;  // after layer `team.thread`
  FrontTicket ticket;
  if (team.thread == 0) {
    memory.next = FrontTicket::take(share, block.taken, args.next).images(share, all);
    ticket = FrontTicket::take(share, block.taken, args.next);
  }
  team.sync();
  FrontImages images = memory.next;
  std::uint32_t words[1][kMostFrontWords];
  const auto read_bits_of = [&](const FrontImages& from) {
    const Index i = team.thread / Shape::kWords;
    read_bits<Shape>(front, i < from.count ? number_of(front, from.first + i) : kNoImage, team.thread % Shape::kWords,
                     words);
  };
  read_bits_of(images);
  team.sync();
  while (images.count > 0) {
    if (team.thread == 0) memory.next = ticket.images(share, all);
    if (Shape::kWarps > 1 && team.thread < 4) memory.marks[team.thread] = {};
    memory.masks[0][team.thread] = counts.count(words[0]);
    team.sync();
    const FrontImages following = memory.next;
    read_bits_of(following);
    if (team.thread == 0) ticket = FrontTicket::take(share, block.taken, args.next);

    const std::uint32_t in_batch = Shape::first_lanes((1U << images.count) - 1);
    FrontBatch<Shape> batch{front, args, layers, block.saturated, images.first, in_batch};
    float* from = memory.values[1];
    float* to = memory.values[0];  // of layer 0
    for (Index number = 0; number < front.until; ++number) {
      const std::uint32_t mask = number == 0   ? layers.counted()
                                 : number == 1 ? layers.look_up()
                                               : layers.add(number, from, to);
      float* const written = to;
      to = from;
      from = written;
      batch.note(number, mask);
      if (team.thread == number) live_images += __popc(batch.live);
      if (batch.active() == 0) break;
    }
    if (batch.active() != 0) batch.save();
    team.sync();
    images = following;
  }
  if (team.thread < front.until && live_images > 0) atomicAdd(&block.live[team.thread], live_images);
  __syncthreads();
  if (threadIdx.x < front.until) {
    LayerTally& tally = args.tallies[threadIdx.x];
    if (block.live[threadIdx.x] > 0) atomicAdd(&tally.live, block.live[threadIdx.x]);
    if (block.saturated[threadIdx.x] > 0) atomicAdd(&tally.saturated, block.saturated[threadIdx.x]);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) atomicMax(args.counted, front.until);
}

}  // namespace spdnn::cuda::cascade
