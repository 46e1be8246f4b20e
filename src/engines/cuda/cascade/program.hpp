#pragma once

// A plan compiled for `cascade`, on the host: what its kernels read of the layers.

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.hpp"

namespace spdnn {

inline constexpr Index kTabled = 33;      ///< counts that have a place in the table of layer 1: up to 32 terms
inline constexpr Index kTablePitch = 37;  ///< of CascadeProgram::pair_table: entry a, b is in bank (5 a + b) % 32
inline constexpr Index kTableFloats = (kTabled * kTablePitch + 3) / 4 * 4;
inline constexpr Index kCascadeWidth = 8192;  ///< neurons of the widest layer that the engine takes, inputs not counted
inline constexpr Index kMostCounted = 255;    ///< terms of a neuron of layer 0: their number is kept in a byte

/// Lists of numbers in slices of 32 lists (SELL-32). The lists of a slice are padded to equal length with a number that
/// stands for nothing: list i has its k-th number at values[starts[i / 32] + 32 k + i % 32].
struct SlicedLists {
  std::vector<Index> starts;  ///< by slice, and the end
  std::vector<Index> values;

  Index slices() const { return static_cast<Index>(starts.size() - 1); }
};

/// How layer 0 is computed on images of bits. With one weight for all edges, a neuron's sum depends only on how many of
/// its terms are 1, whatever rounding does: each of these adds the weight, the others add zero. So terms are counted in
/// integers, and inputs that the same neurons read equally often (a *class*) are counted once for all of them.
struct CountedLayer {
  SlicedLists inputs;   ///< of each class; padded with the number of inputs, where a bit of zero must stand
  SlicedLists classes;  ///< of each neuron, repeated as often as it reads them; padded with the number of classes
  Index class_count = 0;
  /// For each k and slice of classes, the word of the image whose 32 bits are the slice's k-th inputs. A slice without
  /// k-th inputs has the number of words of an image there, where a word of zeros must stand, and k goes up to a
  /// multiple of four. Empty if some k-th inputs are not one word, or if a class has more than kMostWords inputs.
  std::vector<Index> words;
  /// For each k and four neighbouring neurons, the first one's k-th class, if the k-th classes of the other three have
  /// the next three numbers. Where none of the four has a k-th class: 32 times the slices of `inputs`, where the counts
  /// of classes end and zeros must stand. Otherwise kScattered: the four k-th classes are those in `classes`.
  std::vector<Index> runs;
  std::vector<float> sums;  ///< the sum in fp32, by the number of terms that are 1

  static constexpr Index kScattered = 0xffffffff;
  static constexpr Index kMostWords = 31;  ///< the most that five bit planes count
};

/// A layer as blocks read it. Terms stand in the plan's order; layer 0 has none here, as it is counted.
struct alignas(16) CascadeLayer {
  Index inputs = 0;
  Index outputs = 0;
  float weight = 0.0F;       ///< of every edge
  float bias = 0.0F;         ///< of every neuron, where `biases` is kUniform
  Index pairs = 0;           ///< how often every sum repeats its a, b, which `terms` has; 0: the sums do not alternate
  Index degree = 0;          ///< if `pairs` is 0, the neurons' highest degree: that of each where `degrees` is kUniform
  Index degrees = 0;         ///< where the neurons' degrees begin in CascadeProgram::degrees, or kUniform
  Index biases = 0;          ///< where the neurons' biases begin in CascadeProgram::biases, or kUniform
  bool bias_always = false;  ///< the bias may be added to every sum, see adds_bias_always()
  std::uint64_t terms = 0;   ///< where its terms begin in CascadeProgram::terms, in units of 16 bytes

  static constexpr Index kUniform = 0xffffffff;
};

/// A plan as cascade_kernel runs it.
struct CascadeProgram {
  CountedLayer first;
  std::vector<CascadeLayer> layers;
  /// Where the sums of a layer alternate, 32 bits per neuron: a | b << 16. Otherwise chunks of eight terms of 16 bits:
  /// neuron j has its k-th chunk at CascadeLayer::terms + k * outputs + j, in units of 16 bytes.
  std::vector<std::uint32_t> terms;
  std::vector<Index> degrees;
  std::vector<float> biases;
  Index width = 0;  ///< of the widest layer, inputs not counted
  /// What layer 1 makes of two counts of layer 0, first a, then b: at a kTablePitch + b. Empty unless its sums
  /// alternate, each of the two layers has one bias for all neurons, that of layer 0 may be added to every sum, counts
  /// are below kTabled and come in whole words, and the cap is above 0.
  std::vector<float> pair_table;
};

/// Compiles a plan. UsageError where the engine does not take it: no layers, a merged plan, edges of different weight
/// in a layer, more than kMostCounted terms in layer 0, a layer wider than kCascadeWidth. O(edges), parallel over
/// layers.
CascadeProgram compile_cascade(const Plan& plan);
/// Why the engine does not take a plan, besides what a device lacks; empty where it does.
std::string reason_against_cascade(const Plan& plan);
/// The engine is preferred where twins have narrowed the layers and dead images retire: elsewhere others are faster.
/// Without the pass `saturated` many images stay to the end, which it runs as fast as others up to some width only.
Preference cascade_preference(const Plan& plan);
/// Bytes that the program takes at most, if lists of layer 0 that share a slice are about equally long. O(neurons).
std::size_t most_cascade_bytes(const Plan& plan);

}  // namespace spdnn
