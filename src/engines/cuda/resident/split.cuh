#pragma once

// Split rounds of the `resident` engine: the longest sums of a layer, a few neurons at a time.
//
// Mapping. kPieces times as many threads work on a neuron as in a whole bundle, each on as many times fewer images. A
// warp's reads still fill the 128 bytes that shared memory delivers per cycle, with one slot of every bank group. A
// split round comes first in a layer, when registers are free: a thread has as many reads in flight as one with a whole
// bundle, so that the warp gets its share of the bandwidth.

#include "engines/cuda/resident/terms.cuh"

namespace spdnn::cuda::resident {

/// This thread's position in a piece.
template <class C>
struct PieceLane {
  static constexpr Index kImages = C::kLaneImages / C::kPieces;
  static constexpr Index kLanes = C::kImages / kImages;  ///< threads per neuron
  static constexpr Index kNeurons = 32 / kLanes;
  using Wide = WideOf<float, kImages>;

  Index lane = threadIdx.x % 32;
  Index neuron = lane / kLanes;
  Index part = lane % kLanes;
  Index offset = part * Index{sizeof(Wide)};  ///< in bytes

  __device__ PieceLane() { asm("" : "+r"(offset)); }  // see row_at()
};

/// The chunks of a split round's pieces, which follow one another, read ahead.
template <class C>
struct PieceReader {
  static constexpr Index kUnits = PieceLane<C>::kNeurons * (C::kValues ? 3 : 1);
  static constexpr Index kAhead = C::kValues ? 2 : 4;

  const uint4* at;
  Chunk<C> ahead[kAhead];

  __device__ PieceReader(const uint4* begin, const PieceLane<C>& lane) : at(begin) {
#pragma unroll
    for (Chunk<C>& chunk : ahead) read(chunk, lane);
  }
  __device__ void read(Chunk<C>& chunk, const PieceLane<C>& lane) {
    chunk.read(at, lane.neuron, PieceLane<C>::kNeurons);
    at += kUnits;
  }
  __device__ Chunk<C> next(const PieceLane<C>& lane) {
    const Chunk<C> chunk = ahead[0];
#pragma unroll
    for (Index i = 0; i + 1 < kAhead; ++i) ahead[i] = ahead[i + 1];
    read(ahead[kAhead - 1], lane);
    return chunk;
  }
  /// The position of the next chunk.
  __device__ const uint4* position() const { return at - kAhead * kUnits; }
};

/// Adds the terms of kCount chunks, in order, all read before the first is added.
template <class C, Index kCount>
__device__ void add_chunks(const typename C::Stored* tile, float common, const PieceLane<C>& lane,
                           PieceReader<C>& reader, float (&sums)[PieceLane<C>::kImages]) {
  using Place = PieceLane<C>;
  float y[kCount][kChunkTerms][Place::kImages];
  float weights[C::kValues ? kCount : 1][kChunkTerms];
#pragma unroll
  for (Index i = 0; i < kCount; ++i) {
    const Chunk<C> chunk = reader.next(lane);
#pragma unroll
    for (int term = 0; term < static_cast<int>(kChunkTerms); ++term) {
      unpack(read_at<typename Place::Wide>(tile, row_at<C>(chunk.slot(term), lane.offset)), y[i][term]);
      if constexpr (C::kValues) weights[i][term] = chunk.weight(term, common);
    }
  }
#pragma unroll
  for (Index i = 0; i < kCount; ++i) {
#pragma unroll
    for (Index term = 0; term < kChunkTerms; ++term) {
#pragma unroll
      for (Index image = 0; image < Place::kImages; ++image)
        sums[image] = fmaf(y[i][term][image], C::kValues ? weights[C::kValues ? i : 0][term] : common, sums[image]);
    }
  }
}

/// One piece: `sums` receive the terms of this thread's neuron.
template <class C>
__device__ void sum_piece(Index chunks, float common, const typename C::Stored* tile, const PieceLane<C>& lane,
                          PieceReader<C>& reader, float (&sums)[PieceLane<C>::kImages]) {
  constexpr Index kTogether = C::kValues ? 1 : PieceLane<C>::kImages == 4 ? 2 : 4;
#pragma unroll 1
  for (; chunks >= kTogether; chunks -= kTogether) add_chunks<C, kTogether>(tile, common, lane, reader, sums);
  if (kTogether > 2 && chunks >= 2) {
    add_chunks<C, 2>(tile, common, lane, reader, sums);
    chunks -= 2;
  }
  if (kTogether > 1 && chunks > 0) add_chunks<C, 1>(tile, common, lane, reader, sums);
}

__device__ inline bool is_split(Index word) { return (word & round_kind::kMask) == round_kind::kSplit; }

/// A split round: `out` receives this thread's activations, piece by piece. `at`: of the round.
template <class C>
__device__ void run_split(const LayerRun<C>& run, std::size_t at, Reader<C>& reader, float (&out)[C::kLaneImages]) {
  using Place = PieceLane<C>;
  static_assert(C::kPieces <= kMostPieces);
  const Place mine;
  const Index chunks = __ldg(run.layout.splits + run.place * kMostPieces + run.lane.lane % kMostPieces);
  PieceReader<C> pieces(reader.position(), mine);
  float biases[C::kPieces];
#pragma unroll
  for (Index piece = 0; piece < C::kPieces; ++piece) {
    const std::size_t neuron = at + piece * Place::kNeurons + mine.neuron;
    biases[piece] = run.layout.biases != nullptr ? __ldg(run.layout.biases + neuron) : run.info.bias;
  }
  Flags tiles{};
#pragma unroll
  for (Index piece = 0; piece < C::kPieces; ++piece) {
    float sums[Place::kImages] = {};
    sum_piece<C>(__shfl_sync(0xffffffffU, chunks, piece), run.info.weight, run.rows, mine, pieces, sums);
    Flags flags{};
    activate<C>(run, biases[piece], flags, sums);
    tiles.live |= flags.live << (mine.part * Place::kImages);
    tiles.miss |= flags.miss << (mine.part * Place::kImages);
#pragma unroll
    for (Index i = 0; i < Place::kImages; ++i) out[piece * Place::kImages + i] = sums[i];
  }
  tiles.raise(run.seen);
  reader.read_ahead(pieces.position(), run.lane);
}

/// Stores its outputs.
template <class C>
__device__ void write_split(const LayerRun<C>& run, std::size_t at, const float (&out)[C::kLaneImages],
                            typename C::Stored* tile) {
  using Place = PieceLane<C>;
  const Place place;
  auto* rows = reinterpret_cast<typename Place::Wide*>(tile);
  std::uint32_t targets[C::kPieces];
#pragma unroll
  for (Index piece = 0; piece < C::kPieces; ++piece)
    targets[piece] = __ldg(run.layout.targets + at + piece * Place::kNeurons + place.neuron);
#pragma unroll
  for (Index piece = 0; piece < C::kPieces; ++piece) {
    const auto y = pack<typename Place::Wide>(out + piece * Place::kImages);
    rows[(targets[piece] & 0xffffU) * Place::kLanes + place.part] = y;
    if (C::kReplicas && targets[piece] >> 16U != kNoReplica)
      rows[(targets[piece] >> 16U) * Place::kLanes + place.part] = y;
  }
}

}  // namespace spdnn::cuda::resident
