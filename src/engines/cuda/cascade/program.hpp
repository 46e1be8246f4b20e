#pragma once

// A plan compiled for `cascade`, on the host, in the form that its kernels read.

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.hpp"

namespace spdnn {

inline constexpr Index kTabled = 33;      ///< the number of counts in the table of layer 1: up to 32 terms
inline constexpr Index kTablePitch = 37;  ///< of CascadeProgram::pair_table: entry a, b is in bank (5 a + b) % 32
inline constexpr Index kTableFloats = (kTabled * kTablePitch + 3) / 4 * 4;
inline constexpr Index kCascadeWidth = 8192;  ///< neurons of the widest supported layer, inputs not counted
inline constexpr Index kMostCounted = 255;    ///< terms of a neuron of layer 0: a byte holds their number

/// Lists of numbers in slices of 32 lists (SELL-32). The lists of a slice are padded to equal length with a dummy
/// number: list i has its k-th number at values[starts[i / 32] + 32 k + i % 32].
struct SlicedLists {
  std::vector<Index> starts;  ///< by slice, and the end
  std::vector<Index> values;

  Index slices() const { return static_cast<Index>(starts.size() - 1); }
};

/// How layer 0 is computed on images of bits. With one weight for all edges, a neuron's sum depends only on the number
/// of its terms that are 1, whatever the rounding: each of these adds the weight, the others add zero. So terms are
/// counted in integers, and inputs that the same neurons read equally often (a *class*) are counted once for all of
/// these.
struct CountedLayer {
  SlicedLists inputs;   ///< of each class; padded with the number of inputs, whose bit must be zero
  SlicedLists classes;  ///< of each neuron, repeated as often as it reads them; padded with the number of classes
  Index class_count = 0;
  /// For each k and slice of classes, the word of the image whose 32 bits are the slice's k-th inputs. A slice without
  /// k-th inputs has the number of words of an image, whose word must be zero, and k is padded to a multiple of four.
  /// Empty if some k-th inputs are not one word, or if a class has more than kMostWords inputs.
  std::vector<Index> words;
  /// For each k and four neighbouring neurons, the first one's k-th class, if the k-th classes of the other three have
  /// the next three numbers. If none of the four has a k-th class: 32 times the slices of `inputs`, the end of the
  /// counts, where zeros must follow. Otherwise kScattered: the four k-th classes are those in `classes`.
  std::vector<Index> runs;
  std::vector<float> sums;  ///< the sum in fp32, by the number of terms that are 1

  static constexpr Index kScattered = 0xffffffff;
  static constexpr Index kMostWords = 31;  ///< the most that five bit planes count
};

/// A layer in the form that blocks read. Terms are in the plan's order; layer 0 has none, because it is counted.
struct alignas(16) CascadeLayer {
  Index inputs = 0;
  Index outputs = 0;
  float weight = 0.0F;  ///< of every edge
  float bias = 0.0F;    ///< of every neuron, where `biases` is kUniform
  Index pairs = 0;    ///< the number of repetitions of a, b in every sum, whose indices are in `terms`; 0: the sums do
                      ///< not alternate
  Index degree = 0;   ///< if `pairs` is 0, the neurons' highest degree, which all have if `degrees` is kUniform
  Index degrees = 0;  ///< the offset of the neurons' degrees in CascadeProgram::degrees, or kUniform
  Index biases = 0;   ///< the offset of the neurons' biases in CascadeProgram::biases, or kUniform
  bool bias_always = false;  ///< the bias may be added to every sum, see adds_bias_always()
  std::uint64_t terms = 0;   ///< the offset of its terms in CascadeProgram::terms, in units of 16 bytes

  static constexpr Index kUniform = 0xffffffff;
};

/// A plan in the form of cascade_kernel.
struct CascadeProgram {
  CountedLayer first;
  std::vector<CascadeLayer> layers;
  /// Where the sums of a layer alternate, 32 bits per neuron: a | b << 16. Otherwise chunks of eight terms of 16 bits:
  /// neuron j has its k-th chunk at CascadeLayer::terms + k * outputs + j, in units of 16 bytes.
  std::vector<std::uint32_t> terms;
  std::vector<Index> degrees;
  std::vector<float> biases;
  Index width = 0;  ///< of the widest layer, inputs not counted
  /// The output of layer 1 for two counts of layer 0, first a, then b: at a kTablePitch + b. Empty unless its sums
  /// alternate, each of the two layers has one bias for all neurons, that of layer 0 may be added to every sum, counts
  /// are below kTabled and come in whole words, and the cap is above 0.
  std::vector<float> pair_table;
};

/// Compiles a plan. UsageError if the engine does not support it: no layers, a merged plan, edges of different weight
/// in a layer, more than kMostCounted terms in layer 0, a layer wider than kCascadeWidth. O(edges), parallel over
/// layers.
CascadeProgram compile_cascade(const Plan& plan);
/// The reason why the engine does not support a plan on any device, or empty.
std::string reason_against_cascade(const Plan& plan);
/// Prefers the engine if `twins` has narrowed the layers and dead images retire; otherwise others are faster. Without
/// the pass `saturated` many images stay to the end, which it runs as fast as others only up to some width.
Preference cascade_preference(const Plan& plan);
/// Bytes that the program takes at most, if lists of layer 0 that share a slice are about equally long. O(neurons).
std::size_t most_cascade_bytes(const Plan& plan);

}  // namespace spdnn
