#pragma once

// The last layers of a plan, where they are narrow, as `tail_kernel` runs them.

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/cuda/cascade/program.hpp"

namespace spdnn {

inline constexpr Index kTailWidth = 64;         ///< neurons of a layer at most, its inputs too
inline constexpr Index kTailDegree = 32;        ///< terms of a neuron
inline constexpr Index kMostTailLayers = 2048;  ///< that a block counts images of

/// Copies of an image's activations in shared memory. The 32 lanes of a warp read one input each at a time; find_tail()
/// chooses the copies such that no two of the inputs lie in one bank, if that can be.
inline constexpr Index kTailCopies = 4;
inline constexpr std::uint64_t kTailSwaps = 0x0718'0102'0408'1000;  ///< a byte by copy and by half of the neurons

/// The word of a copy's neuron in a row of kTailCopies x kTailWidth floats; its bank is the last five bits.
constexpr Index tail_word(Index neuron, Index copy) {
  return copy * kTailWidth + (neuron ^ (static_cast<Index>(kTailSwaps >> (16 * copy + neuron / 32 * 8)) & 0xffU));
}

struct alignas(16) TailLayer {
  float weight = 0.0F;
  float bias = 0.0F;
  Index outputs = 0;
  Index unused = 0;  ///< fills 16 bytes
};

/// Layers first .. depth - 1 of a plan.
struct Tail {
  /// Bytes of a layer's terms: 16 of them at a time for each of 32 neurons.
  static constexpr Index kLayerBytes = kTailWidth * kTailDegree;

  Index first = 0;
  std::vector<TailLayer> layers;  ///< from `first` on
  /// By layer: term t of neuron j, as the tail_word() of its input, at byte ((j / 32 * 2 + t / 16) * 32 + j % 32) 16 +
  /// t % 16.
  std::vector<std::uint8_t> terms;
};

/// The layers from `first` on as a tail. Nothing if one of them is wider than kTailWidth, has neurons of another degree
/// than kTailDegree, sums of a, b, a, b, ... or biases by neuron, or may leave a sum without its bias. Nothing without
/// the pass `dead` either: with many images in the last layers, cascade_kernel is faster (results/tried.md). O(terms).
std::optional<Tail> find_tail(const CascadeProgram& program, const Plan& plan, Index first);

}  // namespace spdnn
