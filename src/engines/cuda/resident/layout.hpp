#pragma once

#include <cstdint>
#include <vector>

#include "core/types/plan.hpp"

namespace spdnn {

/// The mapping of a tile of images to one thread block of the `resident` engine. The tile's activations are rows of
/// shared memory, called *slots*: `images` activations of `activation_bytes` each (4: fp32, 2: fp16 storage). A warp
/// works on a *bundle* of neurons at a time, with `lanes()` threads per neuron, each of which keeps the sums of
/// `lane_images` images. Every warp has at most `rounds` bundles per layer.
struct TileShape {
  Index images = 32;       ///< a power of two, at most 32
  Index lane_images = 16;  ///< a power of two, at most images
  Index threads = 512;
  Index rounds = 4;
  Index activation_bytes = 4;

  constexpr Index slot_bytes() const { return images * activation_bytes; }
  constexpr Index lanes() const { return images / lane_images; }
  constexpr Index bundle() const { return 32 / lanes(); }
  constexpr Index warps() const { return threads / 32; }
  /// The widest layer whose outputs fit in the threads' registers.
  constexpr Index capacity() const { return warps() * rounds * bundle(); }
  /// Slots in the 128 bytes that shared memory delivers per cycle. A *group* is this many neighbouring neurons of a
  /// bundle: their reads issue in one cycle, and are free of bank conflicts if their slots differ modulo this number.
  constexpr Index bank_groups() const { return 128 / slot_bytes(); }
  /// Pieces of a split round: each has this many times fewer neurons than a bundle, and this many times more threads
  /// per neuron. 1: there are no split rounds. With halves, whose outputs wait packed, there are none.
  constexpr Index pieces() const { return activation_bytes == 4 ? (lane_images < 4 ? lane_images : 4) : 1; }
};

/// Terms per chunk: one 16-byte load. Half a chunk is the smallest unit of work.
inline constexpr Index kChunkTerms = 8;
inline constexpr Index kHalfTerms = kChunkTerms / 2;
inline constexpr std::uint16_t kNoReplica = 0xffff;
inline constexpr Index kMaxRounds = 32;
inline constexpr Index kMostPieces = 4;  ///< of a split round: the numbers per round in `splits`

/// A warp's work in a round: a kind, and a number in the other bits.
namespace round_kind {
inline constexpr Index kMask = 0xc0000000;
/// A bundle. The number: half chunks of its longest sum.
inline constexpr Index kWhole = 0;
/// An *alternating* bundle: each of its sums is a, b, a, b, ... for two inputs, which may be equal, as is common after
/// `twins`. The bundle's only chunk has the two inputs, which are read once. The number: pairs.
inline constexpr Index kAlternating = 0x40000000;
/// A *split* round, always a warp's first: pieces() small bundles one after another, with more threads per neuron, so
/// that the warp with the longest sums does not outlast the others.
inline constexpr Index kSplit = 0x80000000;
inline constexpr Index kIdle = 0xc0000000;  ///< the warp has no bundle in that round
}  // namespace round_kind

/// The blocks' program. Every neuron's terms are in the plan's order. Terms that read a slot of zeros may be inserted;
/// these change no sum. They pad the sums of a bundle to equal length and keep the reads of a group free of bank
/// conflicts. If there is room, inputs have a *replica*, a second slot in another bank group, which reduces the
/// padding.
struct ResidentLayout {
  TileShape shape;
  bool values = false;     ///< every term has its weight in the chunk stream; otherwise a layer has one weight
  bool uneven = false;     ///< there are split rounds or odd half chunks
  bool from_bits = false;  ///< layer 0 reads bits: its terms are inputs, not slots; number `inputs` is a row of zeros
  Index zero_slot = 0;     ///< first of bank_groups() slots that hold zeros; below it, slot = neuron
  Index slots = 0;

  /// For each chunk of a bundle, in 16-byte units: bundle() x 8 slots of 16 bits and then, with `values`, bundle() x 4
  /// floats and bundle() x 4 floats. Pieces of split rounds are alike, with fewer neurons.
  std::vector<std::uint32_t> chunk_stream;
  std::vector<Offset> starts;  ///< by layer and warp: the offset of its chunks in the chunk stream, in 16-byte units;
                               ///< a warp's chunks of one layer are followed by those of the next
  std::vector<Index> rounds;   ///< by layer, warp, kMaxRounds: see round_kind
  std::vector<Index> splits;   ///< by layer, warp, kMostPieces: chunks of a split round's pieces
  std::vector<std::uint32_t> targets;   ///< by layer, warp, round, neuron (piece by piece): slot, replica's slot << 16
  std::vector<float> biases;            ///< in the same places; empty where all layers have one bias
  std::vector<std::uint16_t> replicas;  ///< by layer and input (`width` a layer): the second slot, or kNoReplica
  Index width = 0;

  Offset terms = 0;           ///< of the plan
  Offset padded = 0;          ///< in the stream
  std::vector<Offset> reads;  ///< by layer: of an image's activations, in the layers up to it

  std::size_t bytes() const;
  Index chunk_units() const { return shape.bundle() * (values ? 3 : 1); }
};

/// Whether layer 0 can read bits: its inputs, and a row of zeros if terms need padding, have 16-bit numbers.
bool takes_bits(const Plan& plan);

/// Slots that a plan needs at least: one per stored neuron (and per input, unless inputs are read as bits), and zeros.
Index needed_slots(const Plan& plan, const TileShape& shape, bool from_bits);

/// Lays the plan out for at most `slots` slots. O(edges) with a factor of about ten nanoseconds; parallel over layers.
/// Split rounds and odd half chunks are used only with `may_be_uneven`, and only if they save much. Throws
/// std::invalid_argument if the plan does not fit the shape.
ResidentLayout lay_out(const Plan& plan, const TileShape& shape, Index slots, bool from_bits, bool may_be_uneven);

}  // namespace spdnn
