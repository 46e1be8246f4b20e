#pragma once

#include "engines/cuda/layers/activation.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cuda::cascade {

/// How front_kernel's images are divided into batches.
struct FrontShare {
  Index own_batches;  ///< of each block, of large_batch images each; the other images come in batches of small_batch
  Index large_batch;
  Index small_batch;
};

/// Divides images among blocks of `teams` teams each, which take at most `most` at a time. Where every team would take
/// at most two batches, all batches have one size and are assigned in advance. Otherwise half of the images are, in
/// batches of `most`; teams that become free take the others in batches of half that size.
SPDNN_HOST_DEVICE inline FrontShare divide_images(Index images, Index blocks, Index teams, Index most) {
  constexpr Index kFewRounds = 2;  // three are no faster: results/tried.md
  if (images == 0) return {0, 1, 1};
  const Index rounds = (images - 1) / (blocks * teams * most) + 1;
  if (rounds > kFewRounds) return {images / (2 * blocks * most), most, most > 1 ? most / 2 : 1};
  const Index own = rounds * teams;
  const Index batch = (images - 1) / (blocks * own) + 1;
  return {own, batch, batch};
}

}  // namespace spdnn::cuda::cascade
