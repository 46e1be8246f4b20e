#pragma once

// The division of the `resident` engine's work into phases, items and shares, and a block's shared variables.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/resident/config.cuh"
#include "engines/cuda/resident/view.hpp"

namespace spdnn::cuda::resident {

/// The work of a launch, the same for all its blocks.
struct Phase {
  Index first;
  Index last;
  Index images;
  Index side;   ///< which of the batch's two buffers of rows it reads; it writes the other
  Index epoch;  ///< number of the phase, from 1
  Index tiles;
  bool equal_shares;  ///< every block has its own share of the tiles; otherwise blocks take tiles from a queue
};

/// A tile and the layers that a block runs it through.
struct Item {
  Index tile;
  Index begin;
  Index end;
};

/// A block's share of tiles x layers, divided equally (McNaughton's wrap-around rule): of the tile that it shares with
/// the previous block, it runs the first layers, before all else; of the tile that it shares with the next block, it
/// runs the last layers, at its end, when the first have long been run. There are more tiles than blocks.
struct Share {
  std::size_t begin = 0;  ///< in layers, tile by tile
  std::size_t end = 0;
  Index length = 1;

  __device__ explicit Share(const Phase& phase) : length(phase.last - phase.first) {
    const std::size_t all = std::size_t{phase.tiles} * length;
    const std::size_t number = gridDim.x - 1 - blockIdx.x;  // so that a block waits for one that started before it
    begin = all * number / gridDim.x;
    end = all * (number + 1) / gridDim.x;
  }
  /// Returns false after the last item.
  __device__ bool get(const Phase& phase, Index number, Item& item) const {
    const std::size_t start = (begin / length + number) * length;
    item.tile = static_cast<Index>(start / length);
    item.begin = start + length > end ? phase.last - static_cast<Index>(end - min(start, end)) : phase.first;
    item.end = start < begin ? phase.last - static_cast<Index>(begin - start) : phase.last;
    return start < end;
  }
};

/// Whether two blocks share a tile: then the block of its first layers overwrites the tile's rows.
__device__ inline bool is_shared(const Phase& phase, Index tile) {
  if (!phase.equal_shares) return false;
  const std::size_t length = phase.last - phase.first;
  const std::size_t all = phase.tiles * length;  // as in Share
  const std::size_t begin = tile * length;
  const std::size_t next = ((begin + 1) * gridDim.x + all - 1) / all;  // the first share to begin after `begin`
  return all * next / gridDim.x < begin + length;
}

/// Whether a phase that begins with `layer` searches for duplicates: short ones, in which most images die, do not.
__device__ inline bool is_searched(const BatchView& batch, Index layer, const LaunchWindow& window) {
  constexpr Index kFewestLayers = 4;
  return batch.search.list != nullptr && layer > 0 && shortest_phase(layer, window.least_layers) >= kFewestLayers;
}

template <class C>
__device__ Phase read_phase(const Control* control, const LaunchWindow& window) {
  Phase phase;
  phase.first = __ldcg(&control->layer);
  phase.images = __ldcg(&control->images);
  phase.side = __ldcg(&control->side);
  phase.epoch = __ldcg(&control->epoch);
  const Index before = __ldcg(&control->length);
  const Index few_retired = __ldcg(&control->few_retired);
  Index length = shortest_phase(phase.first, window.least_layers);
  if (few_retired != 0) length = max(length, 16 * before);
  phase.last = phase.images == 0 ? window.until : min(window.until, phase.first + length);
  phase.tiles = (phase.images + C::kImages - 1) / C::kImages;
  phase.equal_shares = phase.tiles > gridDim.x && phase.last >= phase.first + 8;
  return phase;
}

/// Properties of images over the neurons of a layer, one bit per image: a thread's images in its order, or the tile's.
struct Flags {
  std::uint32_t live;  ///< some activation may be above zero
  std::uint32_t miss;  ///< some sum may be below the cap

  /// ORs a warp's flags of the tile's images into the block's.
  __device__ void raise(Flags& block) const {
    const std::uint32_t lives = __reduce_or_sync(0xffffffffU, live);
    const std::uint32_t misses = __reduce_or_sync(0xffffffffU, miss);
    if (threadIdx.x % 32 == 0 && lives != 0) atomicOr(&block.live, lives);
    if (threadIdx.x % 32 == 0 && misses != 0) atomicOr(&block.miss, misses);
  }
};

/// A block's shared variables.
struct Scratch {
  Phase phase;
  LayerInfo info[2];  ///< by parity of the layer
  Item item;
  Index place;               ///< of the first image that leaves, among the next phase's rows
  std::uint32_t retired;     ///< as in Tile
  Flags seen[2];             ///< by parity of the layer
  std::uint32_t candidates;  ///< one bit per row that may be a duplicate
  std::uint32_t differing;   ///< candidates that turned out not to be one
  union {
    Index others[32];          ///< by row, the one that it may be equal to
    std::uint32_t hashes[32];  ///< of rows that leave
  };
};

/// The arguments of most functions of a block.
template <class C>
struct Block {
  const LayoutView& layout;
  const BatchView& batch;
  const Phase& phase;
  Scratch& scratch;
  typename C::Stored* rows;  ///< the tile's activations, in dynamic shared memory
};

}  // namespace spdnn::cuda::resident
