#include "engines/cpu/input_tiles.hpp"

#include <algorithm>
#include <array>

namespace spdnn::tiles {

namespace {

using Square = std::array<std::uint32_t, 32>;

/// One step of the transposition: swaps blocks of kStep x kStep bits across the diagonals of blocks twice as large.
template <unsigned kStep>
void swap_blocks(Square& square) {
  constexpr std::uint32_t kLow = ~std::uint32_t{0} / ((1U << kStep) + 1);  // the lower half of each block's columns
  for (unsigned block = 0; block < 32; block += 2 * kStep) {
    for (unsigned row = block; row < block + kStep; ++row) {
      const std::uint32_t differing = ((square[row] >> kStep) ^ square[row + kStep]) & kLow;
      square[row] ^= differing << kStep;
      square[row + kStep] ^= differing;
    }
  }
}

/// Bit j of word i becomes bit i of word j.
void transpose_bits(Square& square) {
  swap_blocks<16>(square);
  swap_blocks<8>(square);
  swap_blocks<4>(square);
  swap_blocks<2>(square);
  swap_blocks<1>(square);
}

}  // namespace

template <class T>
void InputTiles::transpose(Index first, LaneMask* masks) const {
  const BitMatrix& bits = images_.bits();
  const Index count = std::min(kLanes<T>, bits.rows - first);
  constexpr Index kStrip = 16;  // squares side by side: the cache line of each image is read once
  std::array<Square, kStrip> squares{};
  for (Index strip = 0; strip < bits.cols; strip += 32 * kStrip) {
    const Index used = std::min(kStrip, (bits.cols - strip + 31) / 32);
    for (Index i = 0; i < count; ++i) {
      const std::uint64_t* words = bits.row(first + i) + strip / 64;
      __builtin_prefetch(words + kStrip / 2);  // the rows' next cache lines: too far apart for the hardware to guess
      for (Index s = 0; s < used; ++s) squares[s][i] = static_cast<std::uint32_t>(words[s / 2] >> (s % 2 * 32));
    }
    for (Index s = 0; s < used; ++s) {
      Square square = squares[s];
      transpose_bits(square);
      const Index neuron = strip + 32 * s;
      const Index neurons = std::min<Index>(32, bits.cols - neuron);
      LaneMask* out = masks + std::size_t{neuron} * kMasks<T>;
      for (Index j = 0; j < neurons; ++j)
        for (Index m = 0; m < kMasks<T>; ++m) *out++ = square[j] >> (m * kMaskLanes) & 0xFFFFU;
    }
  }
}

template <class T>
void InputTiles::scatter(Index first, T* tile) const {
  const CsrMatrix& rows = images_.sparse();
  std::fill_n(tile, std::size_t{rows.cols} * kLanes<T>, T{0});
  const Index count = std::min(kLanes<T>, rows.rows - first);
  for (Index lane = 0; lane < count; ++lane)
    for (Offset k = rows.offsets[first + lane]; k < rows.offsets[first + lane + 1]; ++k)
      tile[std::size_t{rows.indices[k]} * kLanes<T> + lane] += static_cast<T>(rows.entry_value(k));
}

template void InputTiles::transpose<float>(Index, LaneMask*) const;
template void InputTiles::transpose<double>(Index, LaneMask*) const;
template void InputTiles::scatter<float>(Index, float*) const;
template void InputTiles::scatter<double>(Index, double*) const;

}  // namespace spdnn::tiles
