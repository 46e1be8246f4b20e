#pragma once

// One layer for one tile: sums, activations, and facts about them.

#include "engines/cpu/tiles/lane_vectors.hpp"

namespace spdnn::tiles {
namespace {

enum class Weights { multiplied_once, repeated, different };

/// The k-th term of a sum, given its input.
template <class T, Weights kWeights>
Real<T> term(const LayerTask<T>& task, Offset k, Real<T> input) {
  if constexpr (kWeights == Weights::multiplied_once)
    return input;
  else if constexpr (kWeights == Weights::repeated)
    return input * task.weight;
  else
    return input * static_cast<T>(task.values[k]);
}

/// Sums over activations. Two neurons of equal degree are summed side by side: the additions of one sum depend on one
/// another, but four registers keep the adders busy. Reads 4 bytes of index for each 128 of activations.
template <class T, Weights kWeights>
struct TileSums {
  static constexpr Index kRows = kVectors <= 4 ? 2 : 1;  // more would not fit the registers

  explicit TileSums(const LayerTask<T>& layer_task) : task(layer_task) {}
  const LayerTask<T>& task;

  template <Index kCount>
  void add(Offset begin, Offset degree, Real<T> (*sums)[kVectors]) const {
    for (Offset k = begin; k < begin + degree; ++k) {
      for (Index row = 0; row < kCount; ++row) {
        const Offset entry = k + row * degree;
        const auto* input = reinterpret_cast<const Real<T>*>(task.tile + std::size_t{task.indices[entry]} * kLanes<T>);
        for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] += term<T, kWeights>(task, entry, input[v]);
      }
    }
  }
};

/// The bits of the lanes of each register in its mask.
template <class T>
struct LaneBits {
  Bits<T> lanes[kVectors];
  LaneBits() {
    for (Index lane = 0; lane < kLanes<T>; ++lane)
      lanes[lane / kPerVector<T>][lane % kPerVector<T>] = Integer<T>{1} << (lane % kMaskLanes);
  }
  static constexpr Index mask_of(std::size_t v) { return static_cast<Index>(v * kPerVector<T>) / kMaskLanes; }
};

/// Sums over bits with distinct weights, added in order.
template <class T, Weights kWeights>
struct BitSums {
  static constexpr Index kRows = 1;

  explicit BitSums(const LayerTask<T>& layer_task) : task(layer_task) {}
  const LayerTask<T>& task;
  LaneBits<T> bits;

  template <Index kCount>
  void add(Offset begin, Offset degree, Real<T> (*sums)[kVectors]) const {
    static_assert(kCount == 1);
    for (Offset k = begin; k < begin + degree; ++k) {
      const LaneMask* masks = task.bits + std::size_t{task.indices[k]} * kMasks<T>;
      const Real<T> weight = term<T, kWeights>(task, k, Real<T>{} + T{1});
      for (std::size_t v = 0; v < kVectors; ++v) {
        const Bits<T> lit = bits.lanes[v] & static_cast<Integer<T>>(masks[LaneBits<T>::mask_of(v)]);
        sums[0][v] += lit != 0 ? weight : Real<T>{};
      }
    }
  }
};

/// Sums over bits with a weight that is multiplied once: counts the bits in integers, exact in any order (up to 2^24 in
/// fp32), each lane's count shifted to its position in the mask.
template <class T>
struct BitCounts {
  static constexpr Index kRows = 1;
  static constexpr Offset kMostMasks = 1U << 16U;  ///< that 32 bits hold, shifted by up to 15

  explicit BitCounts(const LayerTask<T>& layer_task) : task(layer_task) {
    for (Index lane = 0; lane < kLanes<T>; ++lane)
      shifts[lane / kPerVector<T>][lane % kPerVector<T>] = lane % kMaskLanes;
  }
  const LayerTask<T>& task;
  LaneBits<T> bits;
  Patterns<T> shifts[kVectors];

  template <Index kCount>
  void add(Offset begin, Offset degree, Real<T> (*sums)[kVectors]) const {
    static_assert(kCount == 1);
    for (Offset done = 0; done < degree; done += kMostMasks) {
      Patterns<T> counts[kVectors] = {};
      const Offset end = begin + (degree - done < kMostMasks ? degree : done + kMostMasks);
      for (Offset k = begin + done; k < end; ++k) {
        const LaneMask* masks = task.bits + std::size_t{task.indices[k]} * kMasks<T>;
        for (std::size_t v = 0; v < kVectors; ++v)
          counts[v] += reinterpret_cast<Patterns<T>>(bits.lanes[v]) & masks[LaneBits<T>::mask_of(v)];
      }
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[0][v] += __builtin_convertvector(reinterpret_cast<Bits<T>>(counts[v] >> shifts[v]), Real<T>);
    }
  }
};

/// Records the facts that a Watch requests, neuron by neuron.
template <class T, Watch kWatch>
struct Observer {
  Bits<T> non_zero[kVectors] = {};
  Bits<T> off_cap[kVectors] = {};
  Bits<T> not_finite[kVectors] = {};
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
  void note_overflow(std::size_t v, Real<T> biased) { not_finite[v] |= (biased - biased) != 0; }
  void note_margins(std::size_t v, Real<T> always_biased, Real<T> biased) {
    highest[v] = always_biased > highest[v] ? always_biased : highest[v];
    lowest[v] = biased < lowest[v] ? biased : lowest[v];
  }
  void report(Index neurons, LaneFacts<T>& facts) const {
    facts.zero = lanes_without(non_zero);
    facts.at_cap = kWatch == Watch::zeros || neurons == 0 ? 0 : lanes_without(off_cap);
    facts.overflowed = kWatch == Watch::all ? kAllLanes<T> & ~lanes_without(not_finite) : 0;
    if constexpr (kWatch >= Watch::margins) {
      for (std::size_t lane = 0; lane < kLanes<T>; ++lane) {
        facts.highest[lane] = highest[lane / kPerVector<T>][lane % kPerVector<T>];
        facts.lowest[lane] = lowest[lane / kPerVector<T>][lane % kPerVector<T>];
      }
    }
  }

 private:
  static LaneMask lanes_without(const Bits<T>* marks) {
    Bits<T> found = {};
    for (std::size_t v = 0; v < kVectors; ++v) {
      Bits<T> lane_bits;
      for (std::size_t l = 0; l < kPerVector<T>; ++l) lane_bits[l] = Integer<T>{1} << (v * kPerVector<T> + l);
      found |= (marks[v] == 0) & lane_bits;
    }
    LaneMask lanes = 0;
    for (std::size_t l = 0; l < kPerVector<T>; ++l) lanes |= static_cast<LaneMask>(found[l]);
    return lanes;
  }
};

/// Computes activations from sums, records facts, and stores.
template <class T, Watch kWatch, Weights kWeights>
struct Finisher {
  explicit Finisher(const LayerTask<T>& layer_task) : task(layer_task) {}
  const LayerTask<T>& task;
  const Bits<T> everywhere = Bits<T>{} - static_cast<Integer<T>>(task.bias_everywhere ? 1 : 0);
  const Real<T> cap = Real<T>{} + task.cap;
  Observer<T, kWatch> observer;

  void finish(Index neuron, const Real<T>* sums) {
    const T bias = task.biases != nullptr ? static_cast<T>(task.biases[neuron]) : task.bias;
    auto* output = reinterpret_cast<Real<T>*>(task.output + std::size_t{neuron} * kLanes<T>);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Real<T> z = kWeights == Weights::multiplied_once ? sums[v] * task.weight : sums[v];
      const Real<T> biased = ((z != 0) | everywhere) ? z + bias : z;
      const Real<T> positive = biased <= 0 ? Real<T>{} : biased;
      const Real<T> activation = positive > cap ? cap : positive;
      output[v] = activation;
      observer.note(v, activation, task.cap);
      if constexpr (kWatch >= Watch::margins) observer.note_margins(v, z + bias, biased);
      if constexpr (kWatch == Watch::all) observer.note_overflow(v, biased);
    }
  }
};

template <class T, Watch kWatch, Weights kWeights, class Sums>
void compute_layer(const LayerTask<T>& task, LaneFacts<T>& facts) {
  const Sums summation(task);
  Finisher<T, kWatch, kWeights> finisher(task);
  const auto degree = [&](Index j) { return task.offsets[j + 1] - task.offsets[j]; };
  for (Index j = 0; j < task.outputs;) {
    if (Sums::kRows == 2 && j + 1 < task.outputs && degree(j) == degree(j + 1)) {
      Real<T> sums[Sums::kRows][kVectors] = {};
      summation.template add<Sums::kRows>(task.offsets[j], degree(j), sums);
      for (const auto& sum : sums) finisher.finish(j++, sum);
    } else {
      Real<T> sums[1][kVectors] = {};
      summation.template add<1>(task.offsets[j], degree(j), sums);
      finisher.finish(j++, sums[0]);
    }
  }
  finisher.observer.report(task.outputs, facts);
}

template <class T, Watch kWatch>
void layer(const LayerTask<T>& task, LaneFacts<T>& facts) {
  const bool bits = task.tile == nullptr;
  if (task.values != nullptr) {
    constexpr Weights kWeights = Weights::different;
    if (bits)
      compute_layer<T, kWatch, kWeights, BitSums<T, kWeights>>(task, facts);
    else
      compute_layer<T, kWatch, kWeights, TileSums<T, kWeights>>(task, facts);
  } else if (task.multiply_once) {
    constexpr Weights kWeights = Weights::multiplied_once;
    if (bits)
      compute_layer<T, kWatch, kWeights, BitCounts<T>>(task, facts);
    else
      compute_layer<T, kWatch, kWeights, TileSums<T, kWeights>>(task, facts);
  } else {
    constexpr Weights kWeights = Weights::repeated;
    if (bits)
      compute_layer<T, kWatch, kWeights, BitSums<T, kWeights>>(task, facts);
    else
      compute_layer<T, kWatch, kWeights, TileSums<T, kWeights>>(task, facts);
  }
}

}  // namespace
}  // namespace spdnn::tiles
