#pragma once

// Which images retire after a layer: those that are all zero and would next enter layer `dead_from` or a later one, and
// those at the cap that would next enter layer `saturated_from` or a later one. After the last layer the results of the
// others are recorded too, but they stay active, so that activations() can read their rows.

#include "engines/cuda/cascade/wave.cuh"
#include "engines/cuda/retire/offered_duplicates.cuh"

namespace spdnn::cuda::cascade {

/// The state of one image after a layer.
struct Decision {
  bool live = false;  ///< not all zero
  bool saturated = false;
  bool dead = false;
  bool ends = false;  ///< its run ends after this layer
};

/// Decides about an `active` image after layer `number` of `outputs` neurons.
__device__ inline Decision decide(const ProgramView& program, Index number, Index outputs, bool active, Marks marks) {
  Decision decision;
  decision.live = active && marks.live != 0;
  decision.saturated = active && marks.below_cap == 0 && outputs > 0 && number + 1 >= program.saturated_from;
  decision.dead = active && !decision.live && number + 1 >= program.dead_from;
  decision.ends = active && (decision.saturated || decision.dead || number + 1 == program.depth);
  return decision;
}

/// Records the end of an image whose run ends after layer `number`, except in the layer's tally.
__device__ inline void record_end(const ProgramView& program, const LaunchArgs& args, Index number, Index image,
                                  const Decision& decision) {
  const bool last = number + 1 == program.depth;
  if (decision.saturated || (last && decision.live)) atomicOr(args.categories + image / 32, 1U << image % 32);
  if (args.search.endings != nullptr)
    end_image(args.search, image, decision.dead && !decision.saturated ? number : program.depth);
}

/// Notes that an image that stays active is all zero after layer `number`, if the search for duplicates must know.
__device__ inline void note_zero(const LaunchArgs& args, Index number, Index image, const Decision& decision) {
  if (args.search.endings != nullptr && number < args.search.zero_layers && !decision.live && !decision.dead)
    mark_zero_at_layer(args.search, image, number);
}

/// Decides whether this thread's image (kNoImage: none) retires after layer `number` of `outputs` neurons: returns the
/// image, or kNoImage if it retires. Threads with `record`, one per image, also count and record the decision, by whole
/// warps.
__device__ inline Index retire_image(const BlockContext& block, Index number, Index outputs, Index image, Marks marks,
                                     bool record) {
  const ProgramView& program = block.program;
  const LaunchArgs& args = block.args;
  const bool active = image != kNoImage;
  const Decision decision = decide(program, number, outputs, active, marks);
  if (record) {
    const std::uint32_t lives = __ballot_sync(0xffffffffU, decision.live);
    if (threadIdx.x % 32 == 0 && lives != 0) atomicAdd(&args.tallies[number].live, static_cast<Index>(__popc(lives)));
    if (__ballot_sync(0xffffffffU, decision.ends) != 0) {
      if (decision.ends) record_end(program, args, number, image, decision);
      const std::uint32_t saturates = __ballot_sync(0xffffffffU, decision.saturated);
      if (threadIdx.x % 32 == 0 && saturates != 0)
        atomicAdd(&args.tallies[number].saturated, static_cast<Index>(__popc(saturates)));
    }
    if (active) note_zero(args, number, image, decision);
  }
  return decision.saturated || decision.dead ? kNoImage : image;
}

/// Retires a wave's images by the marks of layer `number`, clears these, and records the active images. One thread per
/// column. Ends with note_active().
__device__ inline void retire(BlockContext& block, Index number, Index outputs, Wave& wave) {
  Shared& shared = block.shared;
  const Index slot = threadIdx.x;
  if (slot / 32 * 32 < wave.slots()) {
    const bool exists = slot < wave.slots();
    const Index image = retire_image(block, number, outputs, exists ? shared.image[slot] : kNoImage,
                                     exists ? shared.marks[slot] : Marks{}, true);
    if (exists) {
      shared.marks[slot] = {};
      shared.image[slot] = image;
    }
  }
  wave.active = note_active(wave, shared);
}

}  // namespace spdnn::cuda::cascade
