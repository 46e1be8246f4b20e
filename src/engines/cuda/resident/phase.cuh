#pragma once

// What the kernel of the `resident` engine works on: its compile-time form, the plan and the images on the device, and
// the phases, items and shares that its work is divided into.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/resident/layout.hpp"
#include "engines/cuda/resident/storage.cuh"
#include "engines/cuda/retire/duplicate_search.hpp"

namespace spdnn::cuda::resident {

struct LayerInfo {
  Index inputs;
  Index outputs;
  float weight;  ///< of every term, where the stream has no values
  float bias;    ///< of every neuron, where there is no table
  float bound;   ///< Plan::error_bounds, or 0
  bool plain;    ///< Y = min(cap, max(0, Z + bias)) for all Z: no bias is above 0, or it is added everywhere
};

/// Compile-time form of a tile shape: activations Stored as float or half, M images a tile, V images a thread, Blocks
/// such blocks a multiprocessor, chunks read Ahead: one lasts a warp 128 V cycles (64 V with halves) where 16 warps
/// share a multiprocessor, the way from L2 some 300.
template <class S, Index M, Index V, Index Threads, Index Rounds, Index Blocks, Index Ahead, bool Values, bool Uneven>
struct Config {
  using Stored = S;
  static constexpr TileShape kShape{M, V, Threads, Rounds, sizeof(Stored)};
  static constexpr Index kImages = M;
  static constexpr Index kLaneImages = V;
  static constexpr Index kThreads = Threads;
  static constexpr Index kRounds = Rounds;
  static constexpr Index kBlocks = Blocks;
  static constexpr bool kValues = Values;
  static constexpr bool kUneven = Uneven;                      ///< takes layouts that are
  static constexpr bool kReplicas = kShape.bank_groups() > 1;  ///< inputs may have a second slot
  static constexpr Index kLanes = kShape.lanes();
  static constexpr Index kBundle = kShape.bundle();
  static constexpr Index kWarps = kShape.warps();
  static constexpr Index kPieces = kShape.pieces();
  static constexpr Index kWide = std::min(V, Index{16 / sizeof(Stored)});          ///< activations a load
  static constexpr Index kParts = V / kWide;                                       ///< loads a term
  static constexpr Index kPitch = M / kWide;                                       ///< loads a row
  static constexpr Index kAhead = Values ? std::max(Index{1}, Ahead / 2) : Ahead;  ///< values take three times the room
  using Wide = WideOf<Stored, kWide>;
  static constexpr bool kHalves = !std::is_same_v<Stored, float>;
  using Outputs = std::conditional_t<kHalves, Wide[kParts], float[V]>;  ///< of a round; halves wait packed
  using Bits = std::conditional_t<M == 32, std::uint32_t, std::conditional_t<M == 16, std::uint16_t, std::uint8_t>>;

  static_assert(M <= 32 && (M & (M - 1)) == 0 && (V & (V - 1)) == 0 && V <= M);
  static_assert(sizeof(Wide) == 16 || V == M, "threads of a neuron read 16 bytes each");
  static_assert(Threads % 32 == 0 && Threads >= 64 && Threads <= 1024);
  static_assert(Ahead >= 1 && Blocks >= 1 && Blocks * Threads <= 2048);
  static_assert(kBundle / kShape.bank_groups() % kPieces == 0, "a piece has whole groups");
  static_assert(!Uneven || !kHalves, "outputs of pieces are not packed");
  static_assert(Rounds >= 1 && Rounds <= kMaxRounds && V * Rounds * sizeof(Stored) <= 256, "outputs wait in registers");
};

/// A plan on the device; see ResidentLayout for the arrays.
struct LayoutView {
  const uint4* chunk_stream;
  const Offset* starts;
  const Index* rounds;
  const Index* splits;
  const std::uint32_t* targets;
  const float* biases;
  const std::uint16_t* replicas;
  const LayerInfo* layers;
  Index depth;
  Index width;
  Index zero_slot;
  Index slots;
  Activation activation;
  Index dead_from;       ///< kPassOff where the pass is off
  Index saturated_from;  ///< likewise
  bool merge;
};
inline constexpr Index kPassOff = 0xffffffff;
inline constexpr Index kNoTile = 0xffffffff;

/// What a launch leaves to the next.
struct Control {
  Index layer;   ///< next to run
  Index images;  ///< active, in rows[side]
  Index side;
  Index length;               ///< layers of the last phase
  Index few_retired;          ///< hardly any image retired in the last phase
  Index next_item;            ///< of the queue of tiles
  Index finished;             ///< blocks
  Index appended;             ///< images so far in rows[1 - side]
  Index epoch;                ///< number of the phase, for `progress`
  Index duplicates;           ///< DuplicateSearch::duplicates
  unsigned long long listed;  ///< DuplicateSearch::listed
};

struct LayerCounters {
  unsigned long long live;        ///< images not all zero among the active
  unsigned long long saturated;   ///< of these, retired at the cap
  unsigned long long duplicates;  ///< change from the layer before: duplicates of images that are not all zero
};

/// A batch of images on the device.
struct BatchView {
  Control* control;
  LayerCounters* counts;      ///< by layer
  std::uint32_t* categories;  ///< a bit an image
  std::uint32_t* borderline;
  Index* progress;         ///< by tile: epoch whose first layers are done
  std::uint32_t* retired;  ///< by tile, between its two blocks
  float* rows[2];          ///< activations by image, `stride` floats a row; between two blocks by tile, as stored there
  Index* ids[2];           ///< the image of each row; before layer 0, row i is image i
  Index stride;
  const std::uint32_t* bits;  ///< input: rows of `words` words, or
  std::size_t words;
  const Offset* offsets;  ///< CSR
  const Index* indices;
  const float* values;  ///< null: all are `value`
  float value;
  DuplicateSearch search;
};

/// Layers that a phase beginning at `layer` has at least, where it is worth a launch for `least` layers. Launches: one
/// a phase, so their number grows with the logarithm of the depth.
SPDNN_HOST_DEVICE constexpr Index shortest_phase(Index layer, Index least) {
  return layer / 2 > least ? layer / 2 : least;
}

/// What a launch is for: layers below `until`, when the number of images left is in least_images .. most_images.
struct LaunchWindow {
  Index until;
  Index least_images;
  Index most_images;
  Index least_layers;  ///< of a phase
};

/// What a launch does, the same for all its blocks.
struct Phase {
  Index first;
  Index last;
  Index images;
  Index side;
  Index epoch;
  Index tiles;
  bool equal_shares;  ///< every block has its own share of the tiles; otherwise they are taken from a queue
};

/// A tile and the layers that a block runs it through.
struct Item {
  Index tile;
  Index begin;
  Index end;
};

/// A block's share of tiles x layers where blocks get equal shares of all of it (McNaughton's wrap-around rule): of the
/// tile that it shares with the block before it, it runs the first layers and does so at once; of the one that it
/// shares with the next block it runs the last layers, and does so in the end, when the first have long been run. There
/// are more tiles than blocks.
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
  /// Returns false behind the last item.
  __device__ bool get(const Phase& phase, Index number, Item& item) const {
    const std::size_t start = (begin / length + number) * length;
    item.tile = static_cast<Index>(start / length);
    item.begin = start + length > end ? phase.last - static_cast<Index>(end - min(start, end)) : phase.first;
    item.end = start < begin ? phase.last - static_cast<Index>(begin - start) : phase.last;
    return start < end;
  }
};

/// Whether two blocks share a tile: then the one that has its first layers writes over the tile's rows.
__device__ inline bool is_shared(const Phase& phase, Index tile) {
  if (!phase.equal_shares) return false;
  const std::size_t length = phase.last - phase.first;
  const std::size_t all = phase.tiles * length;  // as in Share
  const std::size_t begin = tile * length;
  const std::size_t next = ((begin + 1) * gridDim.x + all - 1) / all;  // the first share to begin behind `begin`
  return all * next / gridDim.x < begin + length;
}

/// Whether duplicates are looked for where a phase begins with `layer`: not before short ones, in which most images
/// die.
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

/// What is seen of images over the neurons of a layer, a bit an image: of a thread's images in its order, or of the
/// tile's.
struct Flags {
  std::uint32_t live;
  std::uint32_t miss;

  /// A warp's flags of the tile's images join the block's.
  __device__ void raise(Flags& block) const {
    const std::uint32_t lives = __reduce_or_sync(0xffffffffU, live);
    const std::uint32_t misses = __reduce_or_sync(0xffffffffU, miss);
    if (threadIdx.x % 32 == 0 && lives != 0) atomicOr(&block.live, lives);
    if (threadIdx.x % 32 == 0 && misses != 0) atomicOr(&block.miss, misses);
  }
};

/// Variables that a block shares.
struct Scratch {
  Phase phase;
  LayerInfo info[2];  ///< by parity of the layer
  Item item;
  Index place;
  std::uint32_t retired;
  Flags seen[2];             ///< by parity of the layer
  std::uint32_t candidates;  ///< a bit a row that may be a duplicate
  std::uint32_t differing;   ///< of these, those that are none
  union {
    Index others[32];          ///< by row, the one that it may be equal to
    std::uint32_t hashes[32];  ///< of rows that leave
  };
};

}  // namespace spdnn::cuda::resident
