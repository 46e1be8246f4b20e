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

/// Records the results of images whose run ends after layer `number`. By whole warps, if one of the images ends.
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

/// Decides whether this thread's image (kNoImage: none) retires after layer `number` of `outputs` neurons: returns the
/// image, or kNoImage if it retires. Threads with `record`, one per image, also count and record the decision, by whole
/// warps.
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
