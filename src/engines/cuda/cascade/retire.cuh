#pragma once

// Which images retire after a layer: those that are all zero and would next enter layer `dead_from` or a later one, and
// those at the cap that would next enter layer `saturated_from` or a later one. After the last layer the others' end is
// recorded too, but they stay active, so that activations() can have their rows.

#include "engines/cuda/cascade/wave.cuh"
#include "engines/cuda/retire/offered_duplicates.cuh"

namespace spdnn::cuda::cascade {

/// What a layer decides about one image.
struct Decision {
  bool live = false;  ///< not all zero
  bool saturated = false;
  bool dead = false;
  bool ends = false;  ///< its run ends after this layer
};

/// Records what becomes of images whose run ends after layer `number`. By whole warps, where one of the images ends.
__device__ inline void record_ends(const BlockContext& block, Index number, Index image, const Decision& decision) {
  const LaunchArgs& args = block.args;
  const bool last = number + 1 == block.program.depth;
  if (decision.saturated || (last && decision.ends && decision.live))
    atomicOr(args.categories + image / 32, 1U << image % 32);
  if (decision.ends && args.search.endings != nullptr)
    end_image(args.search, image, decision.dead && !decision.saturated ? number : block.program.depth);
  const std::uint32_t saturates = __ballot_sync(0xffffffffU, decision.saturated);
  if (threadIdx.x % 32 == 0 && saturates != 0)
    atomicAdd(&args.tallies[number].saturated, static_cast<Index>(__popc(saturates)));
}

/// Decides about this thread's image, kNoImage where it has none, after layer `number` of `outputs` neurons: returns
/// it, or kNoImage where it retires. Threads that are told to `record` count and note what they decide, by whole warps:
/// one thread per image does.
__device__ inline Index retire_image(const BlockContext& block, Index number, Index outputs, Index image, Marks marks,
                                     bool record) {
  const ProgramView& program = block.program;
  const LaunchArgs& args = block.args;
  const bool active = image != kNoImage;
  const bool live = active && marks.live != 0;
  const bool saturated = active && marks.below_cap == 0 && outputs > 0 && number + 1 >= program.saturated_from;
  const bool dead = active && !live && number + 1 >= program.dead_from;
  if (record) {
    const std::uint32_t lives = __ballot_sync(0xffffffffU, live);
    if (threadIdx.x % 32 == 0 && lives != 0) atomicAdd(&args.tallies[number].live, static_cast<Index>(__popc(lives)));
    const bool ends = active && (saturated || dead || number + 1 == program.depth);
    if (__ballot_sync(0xffffffffU, ends) != 0) record_ends(block, number, image, {live, saturated, dead, ends});
    if (args.search.endings != nullptr && number < args.search.zero_layers && active && !live && !dead)
      mark_zero_at_layer(args.search, image, number);
  }
  return saturated || dead ? kNoImage : image;
}

/// Retires a wave's images by the marks of layer `number`, clears these, and notes which images are active. One thread
/// per column. Ends with note_active().
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
