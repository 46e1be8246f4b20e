#pragma once

// The kernel of the `resident` engine: a block keeps a tile of images in shared memory through many layers.
//
// Mapping. A block runs a tile of M images, its activations rows of M floats or halves (slots) in shared memory. A warp
// works on a bundle of neurons, M/V threads a neuron, each with the sums of V images in registers. For every term a
// thread reads its V images' activations in the term's row with 16-byte loads. Threads that read in the same cycle read
// different parts of their rows (Lane::part), and where a row is shorter than the 128 bytes that shared memory delivers
// per cycle the layout (layout.hpp) keeps the rows apart: no bank conflicts. A layer's outputs stay in
// registers until all its inputs are read, so one buffer suffices. Terms come from a stream in L2, 16 bytes (8 slots) a
// load, read ahead so that latency is hidden; with weights of their own another 32 bytes. A term costs a thread 4 V
// bytes of shared memory traffic (2 V with halves) and 2 (6) bytes from the stream.
//
// Uneven sums. A bundle is padded to its longest sum, and the warp that has the longest of all would outlast the
// others: layouts may have split rounds (split.cuh) and half chunks, for which there are kernels of their own,
// so that even layouts do not pay for them in registers.
//
// Halves (fp16 storage, storage.cuh). The same bytes hold twice the images. A thread turns what it reads into
// floats, one more instruction an image and term, and sums up as ever; it rounds what is finished, and outputs wait
// packed. So neither the shape nor the phase nor the tile of an image shows in its activations.
//
// Work. A launch runs a *phase* of layers. In short phases blocks take tiles from a queue; long ones are dealt out so
// that blocks finish together, two of them sharing a tile where need be. Behind the phase a tile's active images are
// appended to the next phase's tiles: that is the compaction. The device itself decides how long a phase is: short
// while images leave, long otherwise; nothing is read by the host before the end. With the pass `identical`, images
// that are duplicates of others leave where a longer phase begins (retire/offered_duplicates.cuh).
//
// Bound: shared memory bandwidth, 128 B/clk/SM; floor for N neurons, 32 terms, all images alive: 128 N bytes per image
// and layer. On an H200 random networks of 1024 neurons reach 84 % of it (78 % with weights of their own), of 4096
// neurons 64 %, where rows of 8 images need padding, and of 16384 neurons 40 %, where a tile has two images and reads
// of 8 bytes take as long as others; with degrees by a power law 66, 44 and 30 %. ncu, the longest phases (1024, 4096,
// 16384 neurons): the pipe of shared memory and L1 busy 92, 89 and 85 % of the time, with shared memory alone 88, 81
// and 72 %; issue slots 46 %; L2 5, 13 and 15 %. What is lost at 1024 is the end of layers, which all warps of the one
// block reach together, and the moving of tiles. At 16384 neurons with weights of their own the streams take 7 to 8
// TB/s from L2. With halves the floor is 64 N bytes, and the two instructions an image and term take as long to issue:
// a floor of its own. results/h200/structure_free.md has the times, and what was tried.

#include "engines/cuda/resident/tiles.cuh"
#include "engines/cuda/runtime/block.cuh"

namespace spdnn::cuda::resident {

/// Waits until the tile's first layers are done; thread 0 only. The block that has them was started earlier and
/// begins with them.
__device__ inline void wait_for(const Index* progress, Index mark) {
  while (static_cast<int>(load_acquire(progress) - mark) < 0) continue;
}

/// All threads' writes to global memory come before the mark for whoever waits for it.
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
__device__ std::uint32_t retire(const LayoutView& layout, const BatchView& batch, Index layer, Index image,
                                std::uint32_t active, std::uint32_t live, std::uint32_t miss) {
  std::uint32_t saturated = 0;
  std::uint32_t dead = 0;
  if (layer + 1 >= layout.dead_from && layout.dead_from != kPassOff) dead = active & ~live;
  if (layer + 1 >= layout.saturated_from && layout.saturated_from != kPassOff && layout.layers[layer].outputs > 0)
    saturated = active & ~miss;
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

/// What a block knows of the tile at hand.
struct Tile {
  Index image;            ///< of row threadIdx.x
  std::uint32_t retired;  ///< a bit a row; rows that do not exist count as retired
  std::uint32_t live;     ///< after the last layer
};

/// What the warp does in round `lane` of a layer: see round_kind.
template <class C>
__device__ Index read_words(const LayoutView& layout, Index layer, const Lane<C>& lane) {
  return __ldg(layout.rounds + (std::size_t{layer} * C::kWarps + lane.warp) * kMaxRounds + lane.lane);
}

/// Brings a layer's description into shared memory; there after async_copy_wait() and a barrier.
__device__ inline void fetch_info(const LayoutView& layout, Index layer, LayerInfo& info) {
  if (threadIdx.x < sizeof(LayerInfo) / 4)
    async_copy<4>(reinterpret_cast<Index*>(&info) + threadIdx.x,
                  reinterpret_cast<const Index*>(layout.layers + layer) + threadIdx.x);
}

/// Runs a tile, already in shared memory, through layers first .. last-1 or until all its images are retired.
template <class C>
__device__ void run_tile(const LayoutView& layout, const BatchView& batch, Index first, Index last,
                         typename C::Stored* rows, Scratch& scratch, Tile& tile) {
  const Lane<C> lane;
  Reader<C> reader(layout, first, lane);
  Index words = read_words<C>(layout, first, lane);
  for (Index layer = first; layer < last && ~tile.retired != 0; ++layer) {
    const std::size_t place = std::size_t{layer} * C::kWarps + lane.warp;
    const Index parity = layer % 2;
    const Index next = layer + 1 < last ? layer + 1 : layer;
    const Index next_words = read_words<C>(layout, next, lane);
    fetch_info(layout, next, scratch.info[1 - parity]);
    const bool bits = layer == 0 && batch.bits != nullptr;
    typename C::Outputs out[C::kRounds];
    const bool watch_cap = layout.saturated_from != kPassOff && layer + 1 >= layout.saturated_from;
    const LayerInfo info = scratch.info[parity];
    Flags& seen = scratch.seen[parity];
    const Flags flags = bits
                            ? run_layer<C, true>(layout, info, watch_cap, place, words, rows, lane, reader, seen, out)
                            : run_layer<C, false>(layout, info, watch_cap, place, words, rows, lane, reader, seen, out);
    const Targets<C> targets(layout, place, lane);
    Flags{lane.spread(flags.live), lane.spread(flags.miss)}.raise(seen);
    async_copy_wait();
    __syncthreads();
    write_layer<C>(layout, place, rows, lane, targets, words, out);
    if (bits) clear_zero_slots<C>(layout, rows);
    if (threadIdx.x == 0) scratch.seen[1 - parity] = {};
    words = next_words;
    __syncthreads();
    tile.live = seen.live;
    tile.retired |= retire<C>(layout, batch, layer, tile.image, ~tile.retired, tile.live, seen.miss);
  }
}

/// Retires those of the tile's images that are duplicates of others from this phase on, in Scratch alone. Not inlined,
/// with little to hand over: it would cost registers.
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

/// Takes the block's next item and brings its tile into shared memory, unless nothing is left to do for it. False:
/// there is none.
template <class C>
__device__ bool take_tile(const LayoutView& layout, const BatchView& batch, const LaunchWindow& window,
                          const Phase& phase, typename C::Stored* rows, Scratch& scratch, Index number, Tile& tile,
                          Item& item) {
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
  if (~scratch.retired != 0) load_tile<C>(layout, batch, phase, item.tile, item.begin, rows);
  if (searching) find_duplicates<C>(layout, batch, scratch);
  __syncthreads();
  tile.retired = scratch.retired;
  return true;
}

/// Runs one phase, or returns at once where its launch window says so.
template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks)
    resident_kernel(const __grid_constant__ LayoutView layout, const __grid_constant__ BatchView batch,
                    const LaunchWindow window) {
  __shared__ Scratch scratch;
  auto* rows = dynamic_shared<typename C::Stored>();
  const Phase phase = read_phase<C>(batch.control, window);
  if (phase.first >= window.until || phase.images < window.least_images || phase.images > window.most_images) return;
  if (threadIdx.x == 0) scratch.phase = phase;
  Tile tile;
  Item item;
  for (Index number = 0; take_tile<C>(layout, batch, window, phase, rows, scratch, number, tile, item); ++number) {
    run_tile<C>(layout, batch, item.begin, item.end, rows, scratch, tile);
    const std::uint32_t kept = ~tile.retired;
    if (item.end < phase.last) {
      if (kept != 0) save_segment<C>(batch, phase, item.tile, layout.layers[item.end].inputs, rows);
      if (threadIdx.x == 0) batch.retired[item.tile] = tile.retired;
      publish(batch.progress + item.tile, phase.epoch);
    } else if (kept != 0) {
      if (phase.last == layout.depth && threadIdx.x < C::kImages && (kept & tile.live) >> threadIdx.x & 1U)
        atomicOr((layout.merge ? batch.borderline : batch.categories) + tile.image / 32, 1U << (tile.image % 32));
      if (batch.search.list != nullptr && phase.last == layout.depth && threadIdx.x < C::kImages &&
          (kept >> threadIdx.x & 1U) != 0)
        end_image(batch.search, tile.image, layout.depth);
      append_images<C>(batch, phase, layout.layers[phase.last - 1].outputs, tile.image, kept, scratch, rows);
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
