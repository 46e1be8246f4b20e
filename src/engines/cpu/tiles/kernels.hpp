#pragma once

// Included by files that are compiled for one instruction set. It must not use inline functions of the standard
// library, because the linker might then use their copies in the whole program.
#include <cstddef>
#include <cstdint>

#include "spdnn/types.hpp"

namespace spdnn::tiles {

// The arithmetic of cpu_openmp, compiled once per instruction set (kernels_*.cpp) and chosen at run time.
//
// A tile holds a few images, neuron by neuron: tile[neuron * kLanes + lane] is one neuron's activation in the image of
// that lane. An output neuron is the sum of its inputs' rows of lanes, added one after another in the order of the plan
// into one accumulator per lane: the result of a lane depends neither on its neighbours, nor on the instruction set,
// nor on the other neurons of the plan.
//
// Definition of a sum: ((w1*y1 + w2*y2) + w3*y3) + ..., in the precision of the tile, without fused multiply-add,
// whether the weights are stored one by one or as one repeated value. A repeated weight that is a power of two, such as
// the official 1/16, multiplies the sum of the inputs once, if this gives the same bits (common_factor.hpp). For other
// weights it would not, nor be closer to the exact sum. IEEE rules hold: sums that overflow become infinite, infinity
// minus infinity is NaN, and a NaN counts as a non-zero.

/// Bytes per row of lanes: two cache lines, two AVX-512 registers. One line costs more per addition at any width, four
/// lines more in layers that leave L2.
inline constexpr std::size_t kLaneBytes = 128;
/// Images in a tile: 32 in fp32, 16 in fp64.
template <class T>
inline constexpr Index kLanes = kLaneBytes / sizeof(T);

/// One bit for each lane of a tile.
using LaneMask = std::uint32_t;
template <class T>
inline constexpr LaneMask kAllLanes = static_cast<LaneMask>((std::uint64_t{1} << kLanes<T>)-1);

/// Images of zeros and ones enter the first layer as bits: for each neuron one mask for each 16 lanes, lane l in bit
/// l % 16 of mask l / 16. Half of the mask stays zero, so that up to 2^16 masks may be added lane by lane.
inline constexpr Index kMaskLanes = 16;
template <class T>
inline constexpr Index kMasks = kLanes<T> / kMaskLanes;

/// Facts about the rows of images, collected while a layer is computed.
enum class Watch {
  zeros,    ///< which lanes are all zero
  caps,     ///< also which lanes are all at the cap
  margins,  ///< also the extremes of Z + bias in each lane
  all,      ///< also in which lanes Z + bias is not always finite
};
inline constexpr std::size_t kWatches = 4;

template <class T>
struct LaneFacts {
  LaneMask zero;         ///< lanes without a non-zero
  LaneMask at_cap;       ///< lanes whose neurons are all at the cap; none for a layer without neurons
  LaneMask overflowed;   ///< lanes with an infinite or NaN sum, the bias added by the rule; none unless watched
  T highest[kLanes<T>];  ///< largest Z + bias, the bias added to zero sums too
  T lowest[kLanes<T>];   ///< smallest Z + bias, the bias added by the rule
};

/// One layer to be computed for one tile.
template <class T>
struct LayerTask {
  const Offset* offsets;
  const Index* indices;
  const float* values;   ///< null: every weight is `weight`
  const double* biases;  ///< null: every bias is `bias`
  T weight;
  bool multiply_once;  ///< `weight` may be multiplied with the sum; see common_factor.hpp
  T bias;
  T cap;  ///< infinity for none
  bool bias_everywhere;
  Index outputs;

  const T* tile;         ///< the inputs, or null:
  const LaneMask* bits;  ///< inputs of zeros and ones, neurons x kMasks
  T* output;
};

/// Bits are transposed in squares of kSide images by kSide neurons, kSquares of them side by side: a strip holds a word
/// for each image and square, with the square's first neuron lowest. A cache line of an image is a row of a strip.
inline constexpr Index kSide = 32;
inline constexpr Index kSquares = 16;
struct Strip {
  alignas(64) std::uint32_t words[kSide][kSquares];
};

/// The functions of one instruction set.
template <class T>
struct Kernels {
  const char* instruction_set;
  void (*layer[kWatches])(const LayerTask<T>&, LaneFacts<T>&);  ///< by Watch
  /// Copies lanes from[0], from[1], ... of a tile to lanes to[0], to[1], ... of another, whose other lanes are
  /// unchanged.
  void (*move_lanes)(const T* source, T* target, Index neurons, const std::uint8_t* from, const std::uint8_t* to,
                     Index count);
  /// Transposes the first `squares` of a strip into the masks of their neurons (kSide * kMasks per square). Overwrites
  /// the strip.
  void (*transpose)(Strip& strip, Index squares, LaneMask* masks);
  /// A hash of each lane's bits: equal lanes have equal hashes; the caller compares lanes of equal hash.
  void (*hash_lanes)(const T* tile, Index neurons, std::uint32_t* hashes);
};

/// Null if the compiler or its target lacks the instruction set.
template <class T>
const Kernels<T>* avx512_kernels();
template <class T>
const Kernels<T>* avx2_kernels();
/// The instruction set that the whole program is compiled for.
template <class T>
const Kernels<T>* portable_kernels();

}  // namespace spdnn::tiles
