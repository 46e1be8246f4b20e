#pragma once

// The kernel of the `resident` engine: a block keeps a tile of images in shared memory through many layers. README.md
// beside this file has the figure.
//
// Mapping. A block runs a tile of M images. Their activations are rows of M floats or halves (slots) in shared memory.
// A warp works on a bundle of neurons, M/V threads per neuron, each thread with the sums of V images in registers. For
// every term a thread reads its V images' activations from the term's slot, 16 bytes per load. Threads that read in the
// same cycle read different parts of their slots (Lane::part), and where a slot is shorter than the 128 bytes that
// shared memory delivers per cycle the layout keeps the slots in different bank groups: there are no bank conflicts. A
// layer's outputs stay in registers until all its inputs are read, so that one buffer suffices. Terms come from the
// chunk stream in L2, eight slots per 16-byte load, and are read ahead to hide the latency.
//
// Work. A launch runs a *phase* of layers. In short phases blocks take tiles from a queue; in long ones every block has
// an equal share, and two blocks may share a tile (Share). After the phase a tile's active images are appended to the
// next phase's tiles, which compacts them. The device chooses the length of a phase: short while images retire, long
// otherwise. The host reads nothing before the end. With the pass `identical`, duplicates are found when a longer phase
// begins (offered_duplicates.cuh).
//
// Halves are turned into floats when they are read, and outputs are rounded when they are finished. Activations are
// therefore independent of the tile shape, the phase and the tile that an image is in.
//
// Cost per term: a thread moves 4 V bytes of shared memory (2 V with halves) and 2 bytes of the chunk stream, 6 where
// every term has its own weight. Bound: shared memory bandwidth, 128 bytes per cycle and multiprocessor; with 32 terms
// per neuron, 128 bytes per neuron, image and layer. Measured share of it: results/h200/structure_free.md.

#include "engines/cuda/resident/layer.cuh"
#include "engines/cuda/resident/tiles.cuh"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::resident {

/// Waits until another block has run the tile's first layers; thread 0 only. That block was started earlier and begins
/// with them.
__device__ inline void wait_for(const Index* progress, Index mark) {
  while (static_cast<int>(load_acquire(progress) - mark) < 0) continue;
}

/// Orders all threads' writes to global memory before the mark.
__device__ inline void publish(Index* progress, Index mark) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) store_release(progress, mark);
}

/// The block that is last to finish prepares the next launch; for one of its threads, returns true.
inline __device__ bool finish_phase(const Phase& phase, Control& control) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  __threadfence();
  if (atomicAdd(&control.finished, 1U) + 1 != gridDim.x) return false;
  __threadfence();
  const Index kept = atomicExch(&control.appended, 0U);
  control.few_retired = kept >= phase.images - phase.images / 32 ? 1 : 0;
  control.layer = phase.last;
  control.images = kept;
  control.side = 1 - phase.side;
  control.length = phase.last - phase.first;
  control.next_item = 0;
  control.finished = 0;
  control.epoch = phase.epoch + 1;
  return true;
}

/// Retires the tile's images by the flags of a layer just done, which the block has OR-ed together; returns those
/// retired now. `image` is the image of row threadIdx.x.
template <class C>
__device__ std::uint32_t retire(const Block<C>& block, Index layer, Index image, std::uint32_t active, Flags seen) {
  const auto& [layout, batch, phase, scratch, rows] = block;
  const std::uint32_t live = seen.live;
  std::uint32_t saturated = 0;
  std::uint32_t dead = 0;
  if (layer + 1 >= layout.dead_from && layout.dead_from != kPassOff) dead = active & ~live;
  if (layer + 1 >= layout.saturated_from && layout.saturated_from != kPassOff && layout.layers[layer].outputs > 0)
    saturated = active & ~seen.miss;
  if (threadIdx.x == 0) {
    if ((active & live) != 0)
      atomicAdd(&batch.counts[layer].live, static_cast<unsigned long long>(__popc(active & live)));
    if (saturated != 0) atomicAdd(&batch.counts[layer].saturated, static_cast<unsigned long long>(__popc(saturated)));
  }
  if (threadIdx.x < C::kImages && (saturated >> threadIdx.x & 1U) != 0)
    atomicOr(batch.categories + image / 32, 1U << (image % 32));
  if (batch.search.list != nullptr && threadIdx.x < C::kImages) {
    if (((dead | saturated) >> threadIdx.x & 1U) != 0)
      end_image(batch.search, image, (saturated >> threadIdx.x & 1U) != 0 ? layout.depth : layer);
    if (layer < batch.search.zero_layers && ((active & ~live & ~dead) >> threadIdx.x & 1U) != 0)
      mark_zero_at_layer(batch.search, image, layer);
  }
  return dead | saturated;
}

/// A block's state of the current tile.
struct Tile {
  Index image;            ///< of row threadIdx.x
  std::uint32_t retired;  ///< one bit per row; rows that do not exist count as retired
  std::uint32_t live;     ///< after the last layer
};

/// The warp's work in round `lane` of a layer: see round_kind.
template <class C>
__device__ Index read_words(const LayoutView& layout, Index layer, const Lane<C>& lane) {
  return __ldg(layout.rounds + (std::size_t{layer} * C::kWarps + lane.warp) * kMaxRounds + lane.lane);
}

/// Copies a layer's description to shared memory; visible after async_copy_wait() and a barrier.
__device__ inline void fetch_info(const LayoutView& layout, Index layer, LayerInfo& info) {
  if (threadIdx.x < sizeof(LayerInfo) / 4)
    async_copy<4>(reinterpret_cast<Index*>(&info) + threadIdx.x,
                  reinterpret_cast<const Index*>(layout.layers + layer) + threadIdx.x);
}

/// Runs a tile, already in shared memory, through layers first .. last-1 or until all its images are retired.
template <class C>
__device__ void run_tile(const Block<C>& block, Index first, Index last, Tile& tile) {
  const auto& [layout, batch, phase, scratch, rows] = block;
  const Lane<C> lane;
  Reader<C> reader(layout, first, lane);
  Index words = read_words<C>(layout, first, lane);
  for (Index layer = first; layer < last && ~tile.retired != 0; ++layer) {
    const Index parity = layer % 2;
    const Index next = layer + 1 < last ? layer + 1 : layer;
    const Index next_words = read_words<C>(layout, next, lane);
    fetch_info(layout, next, scratch.info[1 - parity]);
    const bool bits = layer == 0 && batch.bits != nullptr;
    typename C::Outputs out[C::kRounds];
    Flags& seen = scratch.seen[parity];
    const LayerRun<C> run{.layout = layout,
                          .info = scratch.info[parity],
                          .watch_cap = layout.saturated_from != kPassOff && layer + 1 >= layout.saturated_from,
                          .place = std::size_t{layer} * C::kWarps + lane.warp,
                          .rows = rows,
                          .lane = lane,
                          .seen = seen};
    const Flags flags =
        bits ? run_layer<C, true>(run, words, reader, out) : run_layer<C, false>(run, words, reader, out);
    const Targets<C> targets(run);
    Flags{lane.spread(flags.live), lane.spread(flags.miss)}.raise(seen);
    async_copy_wait();
    __syncthreads();
    write_layer<C>(run, targets, words, out, rows);
    if (bits) clear_zero_slots<C>(layout, rows);
    if (threadIdx.x == 0) scratch.seen[1 - parity] = {};
    words = next_words;
    __syncthreads();
    tile.live = seen.live;
    tile.retired |= retire<C>(block, layer, tile.image, ~tile.retired, Flags{tile.live, seen.miss});
  }
}

/// Retires images of the tile that have become duplicates, in Scratch alone. Not inlined, with few arguments, to save
/// registers.
template <class C>
__device__ __noinline__ void find_duplicates(const LayoutView& layout, const BatchView& batch, Scratch& scratch) {
  const Phase phase = scratch.phase;
  const Index first = scratch.item.tile * C::kImages;
  const Index row = first + threadIdx.x;
  Index other = row;
  if (threadIdx.x < C::kImages && row < phase.images)
    other =
        candidate_for(batch.search, phase.side, phase.epoch - 1, row, __ldcg(batch.search.hashes[phase.side] + row));
  if (__syncthreads_or(other != row ? 1 : 0) == 0) return;
  if (threadIdx.x < 32) {
    scratch.others[threadIdx.x] = other;
    const bool candidate = other != row && !is_shared(phase, other / C::kImages);
    const std::uint32_t candidates = __ballot_sync(0xffffffffU, candidate);
    if (threadIdx.x == 0) scratch.candidates = candidates;
    if (threadIdx.x == 0) scratch.differing = 0;
  }
  __syncthreads();
  const std::uint32_t candidates = scratch.candidates;
  const bool candidate = threadIdx.x < 32 && (candidates >> threadIdx.x & 1U) != 0;
  const Index image = candidate ? __ldcg(batch.ids[phase.side] + row) : kNoImage;
  const Index owner = candidate ? __ldcg(batch.ids[phase.side] + other) : kNoImage;
  const std::uint32_t differing = differing_rows(
      batch.rows[phase.side], batch.stride, layout.layers[phase.first].inputs, first, candidates,
      [&](Index i) { return scratch.others[i]; }, threadIdx.x, C::kThreads);
  if (differing != 0) atomicOr(&scratch.differing, differing);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const std::uint32_t duplicates = candidates & ~scratch.differing;
  if (duplicates != 0)
    list_duplicates(batch.search, take_entries(batch.search, duplicates), duplicates, duplicates, image, owner,
                    phase.first, &batch.counts[phase.first].duplicates);
  if (threadIdx.x == 0) scratch.retired |= duplicates;
}

/// Takes the block's next item, number `number` of its share, and loads its tile into shared memory, unless no work is
/// left for it. Returns false after the last item.
template <class C>
__device__ bool take_tile(const Block<C>& block, const LaunchWindow& window, Index number, Tile& tile, Item& item) {
  const auto& [layout, batch, phase, scratch, rows] = block;
  if (threadIdx.x == 0) {
    if (!phase.equal_shares) number = atomicAdd(&batch.control->next_item, 1U);
    Item next{number, phase.first, phase.last};
    if (phase.equal_shares ? !Share(phase).get(phase, number, next) : number >= phase.tiles) next.tile = kNoTile;
    scratch.item = next;
    scratch.seen[0] = scratch.seen[1] = {};
    const Index until = (next.tile + 1) * C::kImages;
    const Index missing = next.tile != kNoTile && until > phase.images ? until - phase.images : 0;
    scratch.retired = ~(0xffffffffU >> (32 - C::kImages) >> missing);
    if (next.tile != kNoTile && next.begin > phase.first) {
      wait_for(batch.progress + next.tile, phase.epoch);
      scratch.retired = __ldcg(batch.retired + next.tile);
    }
    if (next.tile != kNoTile) scratch.info[next.begin % 2] = layout.layers[next.begin];
  }
  __syncthreads();
  item = scratch.item;
  if (item.tile == kNoTile) return false;
  tile.live = 0;
  const std::size_t row = std::size_t{item.tile} * C::kImages + threadIdx.x;
  tile.image = 0;
  if (threadIdx.x < C::kImages && row < phase.images)
    tile.image = phase.first == 0 ? static_cast<Index>(row) : __ldcg(batch.ids[phase.side] + row);
  const bool searching = item.begin == phase.first && is_searched(batch, phase.first, window);
  if (~scratch.retired != 0) load_tile<C>(block, item.tile, item.begin);
  if (searching) find_duplicates<C>(layout, batch, scratch);
  __syncthreads();
  tile.retired = scratch.retired;
  return true;
}

/// Runs one phase, or returns immediately outside its launch window.
template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks)
    resident_kernel(const __grid_constant__ LayoutView layout, const __grid_constant__ BatchView batch,
                    const LaunchWindow window) {
  __shared__ Scratch scratch;
  auto* rows = dynamic_shared<typename C::Stored>();
  const Phase phase = read_phase<C>(batch.control, window);
  if (phase.first >= window.until || phase.images < window.least_images || phase.images > window.most_images) return;
  if (threadIdx.x == 0) scratch.phase = phase;
  const Block<C> block{.layout = layout, .batch = batch, .phase = phase, .scratch = scratch, .rows = rows};
  Tile tile;
  Item item;
  for (Index number = 0; take_tile<C>(block, window, number, tile, item); ++number) {
    run_tile<C>(block, item.begin, item.end, tile);
    const std::uint32_t kept = ~tile.retired;
    if (item.end < phase.last) {
      if (kept != 0) save_segment<C>(block, item.tile, layout.layers[item.end].inputs);
      if (threadIdx.x == 0) batch.retired[item.tile] = tile.retired;
      publish(batch.progress + item.tile, phase.epoch);
    } else if (kept != 0) {
      if (phase.last == layout.depth && threadIdx.x < C::kImages && (kept & tile.live) >> threadIdx.x & 1U)
        atomicOr((layout.merge ? batch.borderline : batch.categories) + tile.image / 32, 1U << (tile.image % 32));
      if (batch.search.list != nullptr && phase.last == layout.depth && threadIdx.x < C::kImages &&
          (kept >> threadIdx.x & 1U) != 0)
        end_image(batch.search, tile.image, layout.depth);
      append_images<C>(block, layout.layers[phase.last - 1].outputs, tile.image, kept);
      if (phase.last < layout.depth && is_searched(batch, phase.last, window))
        offer_rows<C>(batch, phase, layout.layers[phase.last - 1].outputs, kept, scratch, rows);
    }
    __syncthreads();
  }
  const bool last = finish_phase(phase, *batch.control);
  if (batch.search.list != nullptr && phase.last == layout.depth && __syncthreads_or(last ? 1 : 0) != 0)
    retire_duplicates(batch.search, static_cast<Index>(__ldcg(batch.search.listed)), layout.depth, batch.counts,
                      batch.categories, batch.borderline);
}

}  // namespace spdnn::cuda::resident
