#pragma once

// The kernel of the `resident` engine: a block keeps a tile of images in shared memory through many layers.
//
// Mapping. A block runs a tile of M images, its activations rows of M floats (slots) in shared memory. A warp works on
// a bundle of neurons, M/V threads a neuron, each with the sums of V images in registers. For every term a thread reads
// its V images' activations in the term's row with 16-byte loads. Threads that read in the same cycle read different
// parts of their rows (Lane::part), and where a row is shorter than the 128 bytes that shared memory delivers per cycle
// the layout (resident_layout.hpp) keeps the rows apart: no bank conflicts. A layer's outputs stay in registers until
// all its inputs are read, so one buffer suffices.
// Terms come from a stream in L2, 16 bytes (8 slots) a load, read ahead so that latency is hidden; with weights of
// their own another 32 bytes. A term costs a thread 4 V bytes of shared memory traffic and 2 (6) bytes from the stream.
//
// Work. A launch runs a *phase* of layers. In short phases blocks take tiles from a queue; long ones are dealt out so
// that blocks finish together, two of them sharing a tile where need be. Behind the phase a tile's unsettled images are
// appended to the next phase's tiles: that is the compaction. The device itself decides how long a phase is: short
// while images leave, long otherwise; nothing is read by the host before the end.
//
// Bound: shared memory bandwidth, 128 B/clk/SM; floor for N neurons, 32 terms, all images alive: 128 N bytes per image
// and layer.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engines/cuda/device_layer.hpp"
#include "engines/cuda/row_kernels.hpp"
#include "engines/resident_layout.hpp"

namespace spdnn::cuda::resident {

/// Compile-time form of a tile shape: M images a tile, V images a thread, Blocks such blocks a multiprocessor, chunks
/// read Ahead: one lasts a warp 128 V cycles where 16 warps share a multiprocessor, the way from L2 some 300.
template <Index M, Index V, Index Threads, Index Rounds, Index Blocks, Index Ahead, bool Values>
struct Config {
  static constexpr TileShape kShape{M, V, Threads, Rounds};
  static constexpr Index kImages = M;
  static constexpr Index kLaneImages = V;
  static constexpr Index kThreads = Threads;
  static constexpr Index kRounds = Rounds;
  static constexpr Index kBlocks = Blocks;
  static constexpr bool kValues = Values;
  static constexpr bool kCopies = kShape.colours() > 1;  ///< inputs may have a second slot
  static constexpr Index kLanes = kShape.lanes();
  static constexpr Index kBundle = kShape.bundle();
  static constexpr Index kWarps = kShape.warps();
  static constexpr Index kWide = std::min(V, Index{4});                            ///< floats a load
  static constexpr Index kParts = V / kWide;                                       ///< loads a term
  static constexpr Index kPitch = M / kWide;                                       ///< loads a row
  static constexpr Index kAhead = Values ? std::max(Index{1}, Ahead / 2) : Ahead;  ///< values take three times the room
  using Wide = std::conditional_t<kWide == 4, float4, std::conditional_t<kWide == 2, float2, float>>;
  using Bits = std::conditional_t<M == 32, std::uint32_t, std::conditional_t<M == 16, std::uint16_t, std::uint8_t>>;

  static_assert(M <= 32 && (M & (M - 1)) == 0 && (V & (V - 1)) == 0 && V <= M && V <= 32);
  static_assert(V >= 4 || V == M, "threads of a neuron read 16 bytes each");
  static_assert(Threads % 32 == 0 && Threads >= 32 && Threads <= 1024);
  static_assert(Ahead >= 1 && Blocks >= 1 && Blocks * Threads <= 2048);
  static_assert(Rounds >= 1 && Rounds <= kMaxRounds && V * Rounds <= 64, "outputs wait in registers");
};

struct LayerInfo {
  Index inputs;
  Index outputs;
  float weight;  ///< of every term, where the stream has no values
  float bias;    ///< of every neuron, where there is no table
  float bound;   ///< Plan::error_bounds, or 0
  bool plain;    ///< Y = min(cap, max(0, Z + bias)) for all Z: no bias is above 0, or it is added everywhere
};

/// A plan on the device; see ResidentLayout for the arrays.
struct Program {
  const uint4* stream;
  const Offset* starts;
  const std::uint16_t* chunks;
  const std::uint32_t* targets;
  const float* biases;
  const std::uint16_t* copies;
  const LayerInfo* layers;
  Index depth;
  Index width;
  Index zero_slot;
  Index slots;
  Activation activation;
  Index dead_from;       ///< kNever where the pass is off
  Index saturated_from;  ///< likewise
  bool merge;
};
inline constexpr Index kNever = 0xffffffff;

/// What a launch leaves to the next.
struct Control {
  Index layer;   ///< next to run
  Index images;  ///< unsettled, in rows[side]
  Index side;
  Index length;     ///< layers of the last phase
  Index calm;       ///< hardly any image left in the last phase
  Index next_item;  ///< of the queue of tiles
  Index finished;   ///< blocks
  Index appended;   ///< images so far in rows[1 - side]
  Index epoch;      ///< number of the phase, for `progress`
};

struct LayerCount {
  unsigned long long live;       ///< images not all zero among the unsettled
  unsigned long long saturated;  ///< of these, retired at the cap
};

/// A batch of images on the device.
struct Batch {
  Control* control;
  LayerCount* counts;         ///< by layer
  std::uint32_t* categories;  ///< a bit an image
  std::uint32_t* borderline;
  Index* progress;         ///< by tile: epoch whose first layers are done
  std::uint32_t* settled;  ///< by tile, between its two blocks
  float* rows[2];          ///< activations by image, `stride` floats a row; between two blocks by tile as in the block
  Index* ids[2];           ///< the image of each row; before layer 0, row i is image i
  Index stride;
  const std::uint32_t* bits;  ///< input: rows of `words` words, or
  std::size_t words;
  const Offset* offsets;  ///< CSR
  const Index* indices;
  const float* values;  ///< null: all are `value`
  float value;
};

/// Layers that a phase beginning at `layer` has at least, where it is worth a launch for `least` layers. Launches: one
/// a phase, so their number grows with the logarithm of the depth.
SPDNN_HOST_DEVICE constexpr Index shortest_phase(Index layer, Index least) {
  return layer / 2 > least ? layer / 2 : least;
}

/// What a launch is for: layers below `until`, when the number of images left is in least_images .. most_images.
struct Turn {
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
  bool dealt;  ///< every block has its own share of the tiles; otherwise they are taken from a queue
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
    begin = all * blockIdx.x / gridDim.x;
    end = all * (blockIdx.x + 1) / gridDim.x;
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

template <class C>
__device__ Phase read_phase(const Control* control, const Turn& turn) {
  Phase phase;
  phase.first = __ldcg(&control->layer);
  phase.images = __ldcg(&control->images);
  phase.side = __ldcg(&control->side);
  phase.epoch = __ldcg(&control->epoch);
  const Index before = __ldcg(&control->length);
  const Index calm = __ldcg(&control->calm);
  Index length = shortest_phase(phase.first, turn.least_layers);
  if (calm != 0) length = max(length, 8 * before);
  phase.last = phase.images == 0 ? turn.until : min(turn.until, phase.first + length);
  phase.tiles = (phase.images + C::kImages - 1) / C::kImages;
  phase.dealt = phase.tiles > gridDim.x && phase.last >= phase.first + 8;
  return phase;
}

/// Variables that a block shares.
struct Scratch {
  LayerInfo info[2];  ///< by parity of the layer
  Item item;
  Index place;
  std::uint32_t settled;
  std::uint32_t live[2];  ///< by parity of the layer, a bit an image
  std::uint32_t miss[2];
};

/// This thread's place in its warp: neuron `neuron` of each bundle, and in a row the parts[0], parts[1], ... in units
/// of C::Wide. Of the threads that shared memory serves in one cycle, those whose rows may overlap read different
/// parts.
template <class C>
struct Lane {
  Index warp = threadIdx.x / 32;
  Index lane = threadIdx.x % 32;
  Index neuron = lane / C::kLanes;
  Index part[C::kParts];

  __device__ Lane() {
    // 128 bytes a cycle: 8 threads of 16 bytes. Of their neurons, colours() are kept apart by the layout.
    constexpr Index kTogether = 128 / (sizeof(float) * C::kWide) / C::kLanes;
    const Index turn = neuron % kTogether / C::kShape.colours();
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i) part[i] = (i ^ turn) * C::kLanes + lane % C::kLanes;
  }

  /// The bits of this thread's images, in its order, put where the images stand in the tile.
  __device__ std::uint32_t spread(std::uint32_t mine) const {
    std::uint32_t bits = 0;
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i)
      bits |= (mine >> (i * C::kWide) & ((1U << C::kWide) - 1)) << (part[i] * C::kWide);
    return bits;
  }
};

/// Eight terms of this thread's neuron.
template <class C>
struct Chunk {
  uint4 slots;
  float4 weights[C::kValues ? 2 : 1];

  __device__ void read(const uint4* at, Index neuron) {
    slots = __ldg(at + neuron);
    if constexpr (C::kValues) {
      weights[0] = __ldg(reinterpret_cast<const float4*>(at) + C::kBundle + neuron);
      weights[1] = __ldg(reinterpret_cast<const float4*>(at) + 2 * C::kBundle + neuron);
    }
  }
  __device__ Index slot(int term) const {
    const std::uint32_t pair = term < 2 ? slots.x : term < 4 ? slots.y : term < 6 ? slots.z : slots.w;
    return term % 2 == 0 ? pair & 0xffffU : pair >> 16U;
  }
  __device__ float weight(int term, float common) const {
    if constexpr (!C::kValues) return common;
    const float4& four = weights[C::kValues ? term / 4 : 0];
    return term % 4 == 0 ? four.x : term % 4 == 1 ? four.y : term % 4 == 2 ? four.z : four.w;
  }
};

/// The warp's stream of chunks, layer by layer.
template <class C>
struct Reader {
  const uint4* at;
  Chunk<C> ahead[C::kAhead];
  Index chunks;  ///< of the bundle of round `lane`
  const uint4* next_at;
  Index next_chunks;

  static constexpr Index kUnits = C::kBundle * (C::kValues ? 3 : 1);

  /// Looks up where a layer's chunks are, long before it is opened.
  __device__ void look_up(const Program& program, Index layer, const Lane<C>& lane) {
    const std::size_t place = std::size_t{layer} * C::kWarps + lane.warp;
    next_at = program.stream + __ldg(program.starts + place);
    next_chunks = __ldg(program.chunks + place * kMaxRounds + lane.lane);
  }
  __device__ void open(const Lane<C>& lane) {
    at = next_at;
    chunks = next_chunks;
#pragma unroll
    for (Index i = 0; i < C::kAhead; ++i, at += kUnits) ahead[i].read(at, lane.neuron);
  }
  /// Reads on past the layer's end: the stream is longer than its chunks by kAhead.
  __device__ Chunk<C> next(const Lane<C>& lane) {
    const Chunk<C> chunk = ahead[0];
#pragma unroll
    for (Index i = 0; i + 1 < C::kAhead; ++i) ahead[i] = ahead[i + 1];
    ahead[C::kAhead - 1].read(at, lane.neuron);
    at += kUnits;
    return chunk;
  }
};

__device__ inline void fma_to(float* sums, float4 y, float w) {
  sums[0] = fmaf(y.x, w, sums[0]);
  sums[1] = fmaf(y.y, w, sums[1]);
  sums[2] = fmaf(y.z, w, sums[2]);
  sums[3] = fmaf(y.w, w, sums[3]);
}
__device__ inline void fma_to(float* sums, float2 y, float w) {
  sums[0] = fmaf(y.x, w, sums[0]);
  sums[1] = fmaf(y.y, w, sums[1]);
}
__device__ inline void fma_to(float* sums, float y, float w) { sums[0] = fmaf(y, w, sums[0]); }

/// Adds eight terms, in order. With kBits the tile holds a word of bits a row, one an image.
template <class C, bool kBits>
__device__ void add_terms(const float* tile, const Chunk<C>& chunk, float common, const Lane<C>& lane,
                          float (&sums)[C::kLaneImages]) {
#pragma unroll
  for (int term = 0; term < static_cast<int>(kChunkTerms); ++term) {
    const Index slot = chunk.slot(term);
    const float weight = chunk.weight(term, common);
    if constexpr (kBits) {
      const std::uint32_t word = reinterpret_cast<const typename C::Bits*>(tile)[slot];
#pragma unroll
      for (Index i = 0; i < C::kLaneImages; ++i) {
        const std::uint32_t mine = word >> (lane.part[i / C::kWide] * C::kWide);
        if ((mine >> (i % C::kWide) & 1U) != 0) sums[i] += weight;
      }
    } else {
#pragma unroll
      for (Index i = 0; i < C::kParts; ++i)
        fma_to(sums + i * C::kWide, reinterpret_cast<const typename C::Wide*>(tile)[slot * C::kPitch + lane.part[i]],
               weight);
    }
  }
}

/// Adds the first two terms of a chunk `pairs` times in turn; they are read once.
template <class C>
__device__ void add_alternating(const float* tile, const Chunk<C>& chunk, Index pairs, float weight,
                                const Lane<C>& lane, float (&sums)[C::kLaneImages]) {
  const auto* rows = reinterpret_cast<const typename C::Wide*>(tile);
#pragma unroll
  for (Index i = 0; i < C::kParts; ++i) {
    const auto first = rows[chunk.slot(0) * C::kPitch + lane.part[i]];
    const auto second = rows[chunk.slot(1) * C::kPitch + lane.part[i]];
#pragma unroll 8
    for (Index pair = 0; pair < pairs; ++pair) {
      fma_to(sums + i * C::kWide, first, weight);
      fma_to(sums + i * C::kWide, second, weight);
    }
  }
}

/// Bits of this thread's images over all neurons of a layer so far.
struct LaneFlags {
  std::uint32_t live = 0;
  std::uint32_t miss = 0;
};

/// Sums become activations. The usual case takes six instructions a neuron and image: all warps of a block come here
/// at about the same time, and shared memory is idle meanwhile.
template <class C>
__device__ void activate(const Program& program, const LayerInfo& info, bool watch_cap, float bias, LaneFlags& flags,
                         float (&out)[C::kLaneImages]) {
  const float cap = program.activation.cap;
  if (info.plain) {
#pragma unroll
    for (Index i = 0; i < C::kLaneImages; ++i) out[i] += bias;
    if (watch_cap) {
#pragma unroll
      for (Index i = 0; i < C::kLaneImages; ++i) flags.miss |= out[i] >= cap + info.bound ? 0U : 1U << i;
    }
#pragma unroll
    for (Index i = 0; i < C::kLaneImages; ++i) {
      if (out[i] > -info.bound) flags.live |= 1U << i;
      out[i] = fminf(fmaxf(out[i], 0.0F), cap);
    }
    return;
  }
#pragma unroll
  for (Index i = 0; i < C::kLaneImages; ++i) {
    const float y = program.activation(out[i], bias);
    const std::uint32_t seen = flags_of(y, out[i] + bias, cap, info.bound);
    flags.live |= (seen & kMayLive) != 0 ? 1U << i : 0U;
    flags.miss |= (seen & kMayMiss) != 0 ? 1U << i : 0U;
    out[i] = y;
  }
}

/// One layer: `out` receives this thread's activations. `watch_cap`: somebody asks for LaneFlags::miss.
template <class C, bool kBits>
__device__ LaneFlags run_layer(const Program& program, const LayerInfo info, bool watch_cap, std::size_t place,
                               const float* tile, const Lane<C>& lane, Reader<C>& reader,
                               float (&out)[C::kRounds][C::kLaneImages]) {
  LaneFlags flags;
#pragma unroll
  for (Index round = 0; round < C::kRounds; ++round) {
#pragma unroll
    for (Index i = 0; i < C::kLaneImages; ++i) out[round][i] = 0.0F;
    const Index chunks = __shfl_sync(0xffffffffU, reader.chunks, round);
    if (chunks == kNoBundle) continue;
    const std::size_t at = (place * C::kRounds + round) * C::kBundle + lane.neuron;
    const float bias = program.biases != nullptr ? program.biases[at] : info.bias;
    if (!kBits && (chunks & kAlternating) != 0) {
      add_alternating<C>(tile, reader.next(lane), chunks & ~Index{kAlternating}, info.weight, lane, out[round]);
    } else {
#pragma unroll 1
      for (Index k = 0; k < chunks; ++k) add_terms<C, kBits>(tile, reader.next(lane), info.weight, lane, out[round]);
    }
    activate<C>(program, info, watch_cap, bias, flags, out[round]);
  }
  return flags;
}

template <class Wide>
__device__ Wide pack(const float* from) {
  if constexpr (sizeof(Wide) == 16)
    return make_float4(from[0], from[1], from[2], from[3]);
  else if constexpr (sizeof(Wide) == 8)
    return make_float2(from[0], from[1]);
  else
    return *from;
}

/// Where this thread's outputs go; read ahead of the barrier where registers allow.
template <class C>
struct Targets {
  static constexpr bool kEarly = C::kRounds <= 4;
  std::uint32_t early[kEarly ? C::kRounds : 1];

  __device__ static std::uint32_t read(const Program& program, std::size_t place, Index round, const Lane<C>& lane) {
    return __ldg(program.targets + (place * C::kRounds + round) * C::kBundle + lane.neuron);
  }
  __device__ Targets(const Program& program, std::size_t place, const Lane<C>& lane) {
    if constexpr (kEarly) {
#pragma unroll
      for (Index round = 0; round < C::kRounds; ++round) early[round] = read(program, place, round, lane);
    }
  }
  __device__ std::uint32_t get(const Program& program, std::size_t place, Index round, const Lane<C>& lane) const {
    if constexpr (kEarly) return early[round];
    return read(program, place, round, lane);
  }
};

/// The outputs of a layer take the places of its inputs.
template <class C>
__device__ void write_layer(const Program& program, std::size_t place, float* tile, const Lane<C>& lane,
                            const Targets<C>& targets, Index chunks_of_lane,
                            const float (&out)[C::kRounds][C::kLaneImages]) {
  auto* rows = reinterpret_cast<typename C::Wide*>(tile);
#pragma unroll
  for (Index round = 0; round < C::kRounds; ++round) {
    if (__shfl_sync(0xffffffffU, chunks_of_lane, round) == kNoBundle) continue;
    const std::uint32_t target = targets.get(program, place, round, lane);
#pragma unroll
    for (Index i = 0; i < C::kParts; ++i) {
      const auto y = pack<typename C::Wide>(&out[round][i * C::kWide]);
      rows[(target & 0xffffU) * C::kPitch + lane.part[i]] = y;
      if (C::kCopies && target >> 16U != kNoCopy) rows[(target >> 16U) * C::kPitch + lane.part[i]] = y;
    }
  }
}

/// Rows of zeros: colours() slots, 128 bytes in all.
template <class C>
__device__ void clear_zero_slots(const Program& program, float* tile) {
  if (threadIdx.x < 32) tile[std::size_t{program.zero_slot} * C::kImages + threadIdx.x] = 0.0F;
}

/// Lane i's bit k becomes lane k's bit i: squares of 16, 8, 4, 2, 1 bits change places.
__device__ inline std::uint32_t transposed(std::uint32_t word) {
  const Index lane = threadIdx.x % 32;
  std::uint32_t low = 0x0000ffffU;
#pragma unroll
  for (Index size = 16; size > 0; size /= 2, low ^= low << size) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffU, word, size);
    word = (lane & size) == 0 ? (word & low) | (other & low) << size : (word & ~low) | (other >> size & low);
  }
  return word;
}

/// Tile from input bits: 32 images' words become 32 inputs' words, kBatch at a time, neighbours in memory. Rows of
/// images that do not exist are 0.
template <class C>
__device__ void load_bits(const Program& program, const Batch& batch, const Phase& phase, Index tile_number,
                          float* tile) {
  constexpr Index kGroups = 32 / C::kImages;  // words of an image that a warp turns at once
  constexpr Index kBatch = 4;
  const Index lane = threadIdx.x % 32;
  const Index inputs = program.layers[0].inputs;
  const std::size_t image = std::size_t{tile_number} * C::kImages + lane % C::kImages;
  auto* rows = reinterpret_cast<typename C::Bits*>(tile);
  constexpr Index kStep = kBatch * kGroups;
  for (std::size_t first = threadIdx.x / 32 * kStep; first * 32 < inputs; first += C::kWarps * kStep) {
    std::uint32_t words[kBatch];
#pragma unroll
    for (Index k = 0; k < kBatch; ++k) {
      const std::size_t mine = first + k * kGroups + lane / C::kImages;
      words[k] = mine < batch.words && image < phase.images ? __ldg(batch.bits + image * batch.words + mine) : 0U;
    }
#pragma unroll
    for (Index k = 0; k < kBatch; ++k) {
      const std::uint32_t turned = transposed(words[k]);
#pragma unroll
      for (Index group = 0; group < kGroups; ++group) {
        const std::size_t input = (first + k * kGroups + group) * 32 + lane;
        if (input < inputs) rows[input] = static_cast<typename C::Bits>(turned >> (group * C::kImages));
      }
    }
  }
  if (threadIdx.x == 0) rows[inputs] = 0;
}

/// Tile from input rows in CSR. Entries of a neuron named twice add up.
template <class C>
__device__ void load_sparse(const Program& program, const Batch& batch, const Phase& phase, Index tile_number,
                            float* tile) {
  for (Index i = threadIdx.x; i < program.slots * C::kImages; i += C::kThreads) tile[i] = 0.0F;
  __syncthreads();
  for (Index m = threadIdx.x / 32; m < C::kImages; m += C::kWarps) {
    const std::size_t image = std::size_t{tile_number} * C::kImages + m;
    if (image >= phase.images) break;
    for (Offset k = batch.offsets[image] + threadIdx.x % 32; k < batch.offsets[image + 1]; k += 32) {
      const Index input = batch.indices[k];
      const float value = batch.values != nullptr ? batch.values[k] : batch.value;
      atomicAdd(tile + std::size_t{input} * C::kImages + m, value);
      const Index copy = C::kCopies ? program.copies[input] : kNoCopy;
      if (copy != kNoCopy) atomicAdd(tile + std::size_t{copy} * C::kImages + m, value);
    }
  }
}

/// Tile from rows by image, 4 neurons a thread.
template <class C>
__device__ void load_rows(const Program& program, const Batch& batch, const Phase& phase, Index tile_number,
                          float* tile) {
  const Index width = program.layers[phase.first].inputs;
  const std::uint16_t* copies = program.copies + std::size_t{phase.first} * program.width;
#pragma unroll 4
  for (Index i = threadIdx.x; i < (width + 3) / 4 * C::kImages; i += C::kThreads) {
    const Index m = i % C::kImages;
    const Index first = i / C::kImages * 4;
    const std::size_t row = std::size_t{tile_number} * C::kImages + m;
    float4 four = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    if (row < phase.images)
      four = __ldcg(reinterpret_cast<const float4*>(batch.rows[phase.side] + row * batch.stride + first));
    const float y[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (Index k = 0; k < 4; ++k) {
      if (first + k >= width) break;
      tile[(first + k) * C::kImages + m] = y[k];
      const Index copy = C::kCopies ? copies[first + k] : kNoCopy;
      if (copy != kNoCopy) tile[copy * C::kImages + m] = y[k];
    }
  }
}

/// Tile as the block with its first layers left it.
template <class C>
__device__ void load_segment(const Program& program, const Batch& batch, const Phase& phase, Index tile_number,
                             Index layer, float* tile) {
  const std::uint16_t* copies = program.copies + std::size_t{layer} * program.width;
  const auto* from = reinterpret_cast<const typename C::Wide*>(batch.rows[phase.side] +
                                                               std::size_t{tile_number} * C::kImages * batch.stride);
  auto* rows = reinterpret_cast<typename C::Wide*>(tile);
  const Index count = program.layers[layer].inputs * C::kPitch;
#pragma unroll 8
  for (Index i = threadIdx.x; i < count; i += C::kThreads) {
    const auto y = __ldcg(from + i);
    rows[i] = y;
    const Index copy = C::kCopies ? copies[i / C::kPitch] : kNoCopy;
    if (copy != kNoCopy) rows[copy * C::kPitch + i % C::kPitch] = y;
  }
}

template <class C>
__device__ void save_segment(const Batch& batch, const Phase& phase, Index tile_number, Index width,
                             const float* tile) {
  auto* to = reinterpret_cast<typename C::Wide*>(batch.rows[phase.side] +
                                                 std::size_t{tile_number} * C::kImages * batch.stride);
  const auto* rows = reinterpret_cast<const typename C::Wide*>(tile);
  for (Index i = threadIdx.x; i < width * C::kPitch; i += C::kThreads) __stcg(to + i, rows[i]);
}

/// The tile's unsettled images go to the next phase's rows, in whatever order tiles come.
template <class C>
__device__ void append_images(const Batch& batch, const Phase& phase, Index width, Index image, std::uint32_t kept,
                              Scratch& scratch, const float* tile) {
  if (threadIdx.x == 0) scratch.place = atomicAdd(&batch.control->appended, static_cast<Index>(__popc(kept)));
  __syncthreads();
  const auto row_of = [&](Index m) { return scratch.place + __popc(kept & ((1U << m) - 1)); };
  if (threadIdx.x < C::kImages && (kept >> threadIdx.x & 1U) != 0)
    batch.ids[1 - phase.side][row_of(threadIdx.x)] = image;
  for (Index i = threadIdx.x; i < (width + 3) / 4 * C::kImages; i += C::kThreads) {
    const Index m = i % C::kImages;
    if ((kept >> m & 1U) == 0) continue;
    const Index first = i / C::kImages * 4;
    const float* from = tile + first * C::kImages + m;
    __stcg(reinterpret_cast<float4*>(batch.rows[1 - phase.side] + std::size_t{row_of(m)} * batch.stride + first),
           make_float4(from[0], from[C::kImages], from[2 * C::kImages], from[3 * C::kImages]));
  }
}

/// Waits until the tile's first layers are done; thread 0 only. All blocks run at the same time, and the one that has
/// them begins with them.
__device__ inline void wait_for(const Index* progress, Index mark) {
  Index seen = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(progress) : "memory");
  } while (static_cast<int>(seen - mark) < 0);
}

/// All threads' writes to global memory come before the mark for whoever waits for it.
__device__ inline void publish(Index* progress, Index mark) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(progress), "r"(mark) : "memory");
}

/// The block that is last to finish prepares the next launch.
inline __device__ void finish_phase(const Phase& phase, Control& control) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&control.finished, 1U) + 1 != gridDim.x) return;
  const Index kept = atomicExch(&control.appended, 0U);
  control.calm = kept >= phase.images - phase.images / 32 ? 1 : 0;
  control.layer = phase.last;
  control.images = kept;
  control.side = 1 - phase.side;
  control.length = phase.last - phase.first;
  control.next_item = 0;
  control.finished = 0;
  control.epoch = phase.epoch + 1;
}

/// Settles the tile's images by the flags of a layer just done, which the block has OR-ed together; returns those
/// settled now. `image` is the image of row threadIdx.x.
template <class C>
__device__ std::uint32_t settle(const Program& program, const Batch& batch, Index layer, Index image,
                                std::uint32_t active, std::uint32_t live, std::uint32_t miss) {
  std::uint32_t saturated = 0;
  std::uint32_t dead = 0;
  if (layer + 1 >= program.dead_from && program.dead_from != kNever) dead = active & ~live;
  if (layer + 1 >= program.saturated_from && program.saturated_from != kNever && program.layers[layer].outputs > 0)
    saturated = active & ~miss;
  if (threadIdx.x == 0) {
    if ((active & live) != 0)
      atomicAdd(&batch.counts[layer].live, static_cast<unsigned long long>(__popc(active & live)));
    if (saturated != 0) atomicAdd(&batch.counts[layer].saturated, static_cast<unsigned long long>(__popc(saturated)));
  }
  if (threadIdx.x < C::kImages && (saturated >> threadIdx.x & 1U) != 0)
    atomicOr(batch.categories + image / 32, 1U << (image % 32));
  return dead | saturated;
}

template <class C>
__device__ void load_tile(const Program& program, const Batch& batch, const Phase& phase, Index tile_number,
                          Index layer, float* tile) {
  if (layer == 0 && batch.bits != nullptr) {
    load_bits<C>(program, batch, phase, tile_number, tile);
    return;
  }
  if (layer == 0)
    load_sparse<C>(program, batch, phase, tile_number, tile);
  else if (layer == phase.first)
    load_rows<C>(program, batch, phase, tile_number, tile);
  else
    load_segment<C>(program, batch, phase, tile_number, layer, tile);
  clear_zero_slots<C>(program, tile);
}

/// What a block knows of the tile at hand.
struct Tile {
  Index image;            ///< of row threadIdx.x
  std::uint32_t settled;  ///< a bit a row; rows that do not exist count as settled
  std::uint32_t live;     ///< after the last layer
};

/// Runs a tile, already in shared memory, through layers first .. last-1 or until all its images are settled.
template <class C>
__device__ void run_tile(const Program& program, const Batch& batch, Index first, Index last, float* rows,
                         Scratch& scratch, Tile& tile) {
  const Lane<C> lane;
  Reader<C> reader;
  reader.look_up(program, first, lane);
  reader.open(lane);
  for (Index layer = first; layer < last && ~tile.settled != 0; ++layer) {
    const std::size_t place = std::size_t{layer} * C::kWarps + lane.warp;
    const Index parity = layer % 2;
    const bool more = layer + 1 < last;
    if (more) reader.look_up(program, layer + 1, lane);
    if (threadIdx.x == 0 && more) scratch.info[1 - parity] = program.layers[layer + 1];
    const bool bits = layer == 0 && batch.bits != nullptr;
    float out[C::kRounds][C::kLaneImages];
    const bool watch_cap = program.saturated_from != kNever && layer + 1 >= program.saturated_from;
    const LayerInfo info = scratch.info[parity];
    const LaneFlags flags = bits ? run_layer<C, true>(program, info, watch_cap, place, rows, lane, reader, out)
                                 : run_layer<C, false>(program, info, watch_cap, place, rows, lane, reader, out);
    const Targets<C> targets(program, place, lane);
    const std::uint32_t live = __reduce_or_sync(0xffffffffU, lane.spread(flags.live));
    const std::uint32_t miss = __reduce_or_sync(0xffffffffU, lane.spread(flags.miss));
    if (lane.lane == 0 && live != 0) atomicOr(&scratch.live[parity], live);
    if (lane.lane == 0 && miss != 0) atomicOr(&scratch.miss[parity], miss);
    const Index chunks = reader.chunks;
    if (more) reader.open(lane);
    __syncthreads();
    write_layer<C>(program, place, rows, lane, targets, chunks, out);
    if (bits) clear_zero_slots<C>(program, rows);
    if (threadIdx.x == 0) scratch.live[1 - parity] = scratch.miss[1 - parity] = 0;
    __syncthreads();
    tile.live = scratch.live[parity];
    tile.settled |= settle<C>(program, batch, layer, tile.image, ~tile.settled, tile.live, scratch.miss[parity]);
  }
}

/// Takes the block's next item and brings its tile into shared memory, unless nothing is left to do for it. False:
/// there is none.
template <class C>
__device__ bool take_tile(const Program& program, const Batch& batch, const Phase& phase, float* rows, Scratch& scratch,
                          Index number, Tile& tile, Item& item) {
  if (threadIdx.x == 0) {
    if (!phase.dealt) number = atomicAdd(&batch.control->next_item, 1U);
    Item next{number, phase.first, phase.last};
    if (phase.dealt ? !Share(phase).get(phase, number, next) : number >= phase.tiles) next.tile = kNever;
    scratch.item = next;
    scratch.live[0] = scratch.live[1] = scratch.miss[0] = scratch.miss[1] = 0;
    const Index until = (next.tile + 1) * C::kImages;
    const Index missing = next.tile != kNever && until > phase.images ? until - phase.images : 0;
    scratch.settled = ~(0xffffffffU >> (32 - C::kImages) >> missing);
    if (next.tile != kNever && next.begin > phase.first) {
      wait_for(batch.progress + next.tile, phase.epoch);
      scratch.settled = __ldcg(batch.settled + next.tile);
    }
    if (next.tile != kNever) scratch.info[next.begin % 2] = program.layers[next.begin];
  }
  __syncthreads();
  item = scratch.item;
  if (item.tile == kNever) return false;
  tile.settled = scratch.settled;
  tile.live = 0;
  const std::size_t row = std::size_t{item.tile} * C::kImages + threadIdx.x;
  tile.image = 0;
  if (threadIdx.x < C::kImages && row < phase.images)
    tile.image = phase.first == 0 ? static_cast<Index>(row) : __ldcg(batch.ids[phase.side] + row);
  if (~tile.settled != 0) load_tile<C>(program, batch, phase, item.tile, item.begin, rows);
  __syncthreads();
  return true;
}

/// Runs one phase, or returns at once where that is not its turn.
template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks)
    resident_kernel(const __grid_constant__ Program program, const __grid_constant__ Batch batch, const Turn turn) {
  extern __shared__ __align__(16) float rows[];
  __shared__ Scratch scratch;
  const Phase phase = read_phase<C>(batch.control, turn);
  if (phase.first >= turn.until || phase.images < turn.least_images || phase.images > turn.most_images) return;
  Tile tile;
  Item item;
  for (Index number = 0; take_tile<C>(program, batch, phase, rows, scratch, number, tile, item); ++number) {
    run_tile<C>(program, batch, item.begin, item.end, rows, scratch, tile);
    const std::uint32_t kept = ~tile.settled;
    if (item.end < phase.last) {
      if (kept != 0) save_segment<C>(batch, phase, item.tile, program.layers[item.end].inputs, rows);
      if (threadIdx.x == 0) batch.settled[item.tile] = tile.settled;
      publish(batch.progress + item.tile, phase.epoch);
    } else if (kept != 0) {
      if (phase.last == program.depth && threadIdx.x < C::kImages && (kept & tile.live) >> threadIdx.x & 1U)
        atomicOr((program.merge ? batch.borderline : batch.categories) + tile.image / 32, 1U << (tile.image % 32));
      append_images<C>(batch, phase, program.layers[phase.last - 1].outputs, tile.image, kept, scratch, rows);
    }
    __syncthreads();
  }
  finish_phase(phase, *batch.control);
}

}  // namespace spdnn::cuda::resident
