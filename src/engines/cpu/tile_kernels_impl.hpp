#pragma once

// The kernels of tile_kernels.hpp in GCC's vector types, for whatever instruction set the including file is compiled
// for. Everything is in an unnamed namespace, so that no two of those files share a function.

#include "engines/cpu/tile_kernels.hpp"

namespace spdnn::tiles {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif
constexpr std::size_t kVectors = kLaneBytes / kVectorBytes;  ///< registers to a row of lanes

template <class T>
struct VectorTypes {
  typedef T Real __attribute__((vector_size(kVectorBytes), may_alias));  // NOLINT(modernize-use-using)
};
template <class T>
struct IntegersOf;
template <>
struct IntegersOf<float> {
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
};
template <>
struct IntegersOf<double> {
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
};
template <class T>
using Integer = typename IntegersOf<T>::Signed;
template <class T>
using Real = typename VectorTypes<T>::Real;  ///< a register of activations
template <class T>
using Bits = typename VectorTypes<Integer<T>>::Real;  ///< a register of masks or lane numbers
template <class T>
using Patterns = typename VectorTypes<typename IntegersOf<T>::Unsigned>::Real;  ///< a register of bit patterns

template <class T>
constexpr std::size_t kPerVector = kVectorBytes / sizeof(T);

/// The inputs of a layer as activations.
template <class T>
struct TileInputs {
  const T* tile;
  Real<T> operator()(Index neuron, std::size_t v) const {
    return reinterpret_cast<const Real<T>*>(tile + std::size_t{neuron} * kLanes<T>)[v];
  }
};

/// The inputs of a layer as bits: ones and zeros.
template <class T>
struct BitInputs {
  const LaneMask* bits;
  unsigned first_bit;
  Bits<T> lane_bits[kVectors];

  explicit BitInputs(const LayerTask<T>& task) : bits(task.bits), first_bit(task.first_bit) {
    for (std::size_t lane = 0; lane < kLanes<T>; ++lane)
      lane_bits[lane / kPerVector<T>][lane % kPerVector<T>] = static_cast<Integer<T>>(LaneMask{1} << lane);
  }
  Real<T> operator()(Index neuron, std::size_t v) const {
    const Bits<T> mask = lane_bits[v] & static_cast<Integer<T>>(bits[neuron] >> first_bit);
    return mask != 0 ? Real<T>{} + T{1} : Real<T>{};
  }
};

/// Notes what a Watch asks for, neuron by neuron.
template <class T, Watch kWatch>
struct Observer {
  Bits<T> non_zero[kVectors] = {};
  Bits<T> off_cap[kVectors] = {};
  Real<T> highest[kVectors];
  Real<T> lowest[kVectors];

  Observer() {
    for (std::size_t v = 0; v < kVectors; ++v) {
      highest[v] = Real<T>{} - static_cast<T>(__builtin_inf());
      lowest[v] = Real<T>{} + static_cast<T>(__builtin_inf());
    }
  }
  void note(std::size_t v, Real<T> activation, T cap) {
    non_zero[v] |= reinterpret_cast<Bits<T>>(activation);
    if constexpr (kWatch != Watch::zeros) off_cap[v] |= activation != cap;
  }
  void note_margins(std::size_t v, Real<T> always_biased, Real<T> biased) {
    highest[v] = always_biased > highest[v] ? always_biased : highest[v];
    lowest[v] = biased < lowest[v] ? biased : lowest[v];
  }
  void report(Index neurons, LaneFacts<T>& facts) const {
    facts.zero = 0;
    facts.at_cap = 0;
    for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
      const std::size_t v = lane / kPerVector<T>;
      const std::size_t l = lane % kPerVector<T>;
      facts.zero |= static_cast<LaneMask>(non_zero[v][l] == 0) << lane;
      if constexpr (kWatch != Watch::zeros) facts.at_cap |= static_cast<LaneMask>(off_cap[v][l] == 0) << lane;
      if constexpr (kWatch == Watch::margins) {
        facts.highest[lane] = highest[v][l];
        facts.lowest[lane] = lowest[v][l];
      }
    }
    if (neurons == 0) facts.at_cap = 0;
  }
};

enum class Weights { multiplied_once, repeated, different };

/// Mapping: one neuron after another; a term costs one load of its index and, per register, one addition with its
/// operand from memory (and one multiplication where weights differ).
template <class T, Watch kWatch, Weights kWeights, class Inputs>
void compute_layer(const LayerTask<T>& task, const Inputs& inputs, LaneFacts<T>& facts) {
  Observer<T, kWatch> observer;
  const Bits<T> everywhere = Bits<T>{} - static_cast<Integer<T>>(task.bias_everywhere ? 1 : 0);
  const Real<T> cap = Real<T>{} + task.cap;
  for (Index j = 0; j < task.outputs; ++j) {
    Real<T> sum[kVectors] = {};
    for (Offset k = task.offsets[j], end = task.offsets[j + 1]; k < end; ++k) {
      const Index neuron = task.indices[k];
      for (std::size_t v = 0; v < kVectors; ++v) {
        if constexpr (kWeights == Weights::multiplied_once)
          sum[v] += inputs(neuron, v);
        else if constexpr (kWeights == Weights::repeated)
          sum[v] += inputs(neuron, v) * task.weight;
        else
          sum[v] += inputs(neuron, v) * static_cast<T>(task.values[k]);
      }
    }
    const T bias = task.biases != nullptr ? static_cast<T>(task.biases[j]) : task.bias;
    auto* output = reinterpret_cast<Real<T>*>(task.output + std::size_t{j} * kLanes<T>);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Real<T> z = kWeights == Weights::multiplied_once ? sum[v] * task.weight : sum[v];
      const Real<T> biased = ((z != 0) | everywhere) ? z + bias : z;
      const Real<T> positive = biased <= 0 ? Real<T>{} : biased;
      const Real<T> activation = positive > cap ? cap : positive;
      output[v] = activation;
      observer.note(v, activation, task.cap);
      if constexpr (kWatch == Watch::margins) observer.note_margins(v, z + bias, biased);
    }
  }
  observer.report(task.outputs, facts);
}

template <class T, Watch kWatch, class Inputs>
void layer_of(const LayerTask<T>& task, const Inputs& inputs, LaneFacts<T>& facts) {
  if (task.values != nullptr)
    compute_layer<T, kWatch, Weights::different>(task, inputs, facts);
  else if (task.multiply_once)
    compute_layer<T, kWatch, Weights::multiplied_once>(task, inputs, facts);
  else
    compute_layer<T, kWatch, Weights::repeated>(task, inputs, facts);
}

template <class T, Watch kWatch>
void layer(const LayerTask<T>& task, LaneFacts<T>& facts) {
  if (task.tile != nullptr)
    layer_of<T, kWatch>(task, TileInputs<T>{task.tile}, facts);
  else
    layer_of<T, kWatch>(task, BitInputs<T>(task), facts);
}

#if defined(__clang__) || !defined(__SSSE3__)
// No permutation by a variable in one instruction: one lane at a time.
template <class T>
void move_lanes(const T* source, T* target, Index neurons, const std::uint8_t* from, const std::uint8_t* to,
                Index count) {
  for (Index j = 0; j < neurons; ++j) {
    for (Index i = 0; i < count; ++i) target[to[i]] = source[from[i]];
    source += kLanes<T>;
    target += kLanes<T>;
  }
}
#else
/// Mapping: a permutation of two registers for each pair of source and target registers that a lane moves between;
/// few, as lanes move in order. Costs about as much as two to four terms of a sum per neuron.
template <class T>
void move_lanes(const T* source, T* target, Index neurons, const std::uint8_t* from, const std::uint8_t* to,
                Index count) {
  Bits<T> stay;
  for (std::size_t lane = 0; lane < kPerVector<T>; ++lane) stay[lane] = static_cast<Integer<T>>(lane);
  struct Move {
    std::size_t source;
    std::size_t target;
    Bits<T> permutation;  ///< of the target's register (first) and the source's (behind it)
  };
  Move moves[kVectors * kVectors];
  Move* move_of[kVectors][kVectors] = {};
  std::size_t used = 0;
  for (Index i = 0; i < count; ++i) {
    const std::size_t s = from[i] / kPerVector<T>;
    const std::size_t t = to[i] / kPerVector<T>;
    if (move_of[s][t] == nullptr) {
      move_of[s][t] = &moves[used++];
      *move_of[s][t] = {s, t, stay};
    }
    move_of[s][t]->permutation[to[i] % kPerVector<T>] =
        static_cast<Integer<T>>(kPerVector<T> + from[i] % kPerVector<T>);
  }
  for (Index j = 0; j < neurons; ++j) {
    const auto* in = reinterpret_cast<const Real<T>*>(source + std::size_t{j} * kLanes<T>);
    auto* out = reinterpret_cast<Real<T>*>(target + std::size_t{j} * kLanes<T>);
    for (std::size_t m = 0; m < used; ++m)
      out[moves[m].target] = __builtin_shuffle(out[moves[m].target], in[moves[m].source], moves[m].permutation);
  }
}
#endif

/// The sum of the bit patterns, each times an odd number of its neuron's own.
template <class T>
void hash_lanes(const T* tile, Index neurons, std::uint32_t* hashes) {
  Patterns<T> hash[kVectors] = {};
  std::uint32_t factor = 1;
  for (Index j = 0; j < neurons; ++j) {
    factor *= 0x2C9277B5U;
    const auto* row = reinterpret_cast<const Patterns<T>*>(tile + std::size_t{j} * kLanes<T>);
    for (std::size_t v = 0; v < kVectors; ++v) hash[v] += (row[v] ^ (row[v] >> (sizeof(T) * 3 + 1))) * factor;
  }
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
    const std::uint64_t bits = hash[lane / kPerVector<T>][lane % kPerVector<T>];
    hashes[lane] = static_cast<std::uint32_t>(bits ^ bits >> 32U);
  }
}

template <class T>
constexpr Kernels<T> kernels_named(const char* instruction_set) {
  return {instruction_set,
          {layer<T, Watch::zeros>, layer<T, Watch::caps>, layer<T, Watch::margins>},
          move_lanes<T>,
          hash_lanes<T>};
}

}  // namespace
}  // namespace spdnn::tiles
