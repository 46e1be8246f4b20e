#pragma once

// Operations on lanes between layers: moves and hashes; and the transposition of bits into the masks of lanes.

#include "engines/cpu/tiles/lane_vectors.hpp"

namespace spdnn::tiles {
namespace {

#if defined(__clang__) || !defined(__SSSE3__)
// Without an instruction for variable permutations: one lane at a time.
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
  for (std::size_t lane = 0; lane < kPerVector<T>; ++lane) stay[lane] = static_cast<Integer<T> >(lane);
  struct Move {
    std::size_t source;
    std::size_t target;
    Bits<T> permutation;  ///< of the target's register (first) and the source's (after it)
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
        static_cast<Integer<T> >(kPerVector<T> + from[i] % kPerVector<T>);
  }
  for (Index j = 0; j < neurons; ++j) {
    const auto* in = reinterpret_cast<const Real<T>*>(source + std::size_t{j} * kLanes<T>);
    auto* out = reinterpret_cast<Real<T>*>(target + std::size_t{j} * kLanes<T>);
    for (std::size_t m = 0; m < used; ++m)
      out[moves[m].target] = __builtin_shuffle(out[moves[m].target], in[moves[m].source], moves[m].permutation);
  }
}
#endif

using Words = Patterns<float>;
constexpr std::size_t kWordVectors = kSquares / kPerVector<float>;  ///< registers per row of a strip

/// One step of a transposition: swaps blocks of kStep x kStep bits across the diagonals of blocks twice as large, in
/// all squares of a strip.
template <Index kStep>
void swap_blocks(Words (*rows)[kWordVectors]) {
  constexpr std::uint32_t kLow = ~std::uint32_t{0} / ((1U << kStep) + 1);  // the lower half of each block's columns
  for (Index block = 0; block < kSide; block += 2 * kStep) {
    for (Index row = block; row < block + kStep; ++row) {
      for (std::size_t v = 0; v < kWordVectors; ++v) {
        const Words differing = ((rows[row][v] >> kStep) ^ rows[row + kStep][v]) & kLow;
        rows[row][v] ^= differing << kStep;
        rows[row + kStep][v] ^= differing;
      }
    }
  }
}

template <class T>
void transpose(Strip& strip, Index squares, LaneMask* masks) {
  auto* rows = reinterpret_cast<Words(*)[kWordVectors]>(strip.words);
  swap_blocks<16>(rows);
  swap_blocks<8>(rows);
  swap_blocks<4>(rows);
  swap_blocks<2>(rows);
  swap_blocks<1>(rows);
  for (Index square = 0; square < squares; ++square) {
    for (Index neuron = 0; neuron < kSide; ++neuron) {
      const std::uint32_t images = strip.words[neuron][square];
      for (Index m = 0; m < kMasks<T>; ++m) *masks++ = images >> (m * kMaskLanes) & 0xFFFFU;
    }
  }
}

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

}  // namespace
}  // namespace spdnn::tiles
