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

void InputTiles::load(const ImageSet& images, int threads) {
  images_ = images;
  if (!images.is_bits()) {
    masks_ = {};
    return;
  }
  const BitMatrix& bits = images.bits();
  const Index groups = bits.rows / kGroup + (bits.rows % kGroup != 0 ? 1 : 0);
  const std::size_t size = std::size_t{groups} * bits.cols;
  if (masks_.size() != size) masks_ = HostMemory<LaneMask>(size);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index group = 0; group < groups; ++group) {
    const Index first = group * kGroup;
    const Index count = std::min(kGroup, bits.rows - first);
    LaneMask* out = masks_.data() + std::size_t{group} * bits.cols;
    for (Index neuron = 0; neuron < bits.cols; neuron += 32) {
      Square square{};
      for (Index i = 0; i < count; ++i)
        square[i] = static_cast<std::uint32_t>(bits.row(first + i)[neuron / 64] >> (neuron % 64));
      transpose_bits(square);
      std::copy_n(square.data(), std::min<Index>(32, bits.cols - neuron), out + neuron);
    }
  }
}

template <class T>
void InputTiles::scatter(Index tile, T* output) const {
  const CsrMatrix& rows = images_.sparse();
  std::fill_n(output, std::size_t{rows.cols} * kLanes<T>, T{0});
  const Index first = tile * kLanes<T>;
  const Index count = std::min(kLanes<T>, rows.rows - first);
  for (Index lane = 0; lane < count; ++lane)
    for (Offset k = rows.offsets[first + lane]; k < rows.offsets[first + lane + 1]; ++k)
      output[std::size_t{rows.indices[k]} * kLanes<T> + lane] += static_cast<T>(rows.entry_value(k));
}

template void InputTiles::scatter<float>(Index, float*) const;
template void InputTiles::scatter<double>(Index, double*) const;

std::size_t InputTiles::bytes(Index neurons, Index images) {
  return (std::size_t{images} + kGroup - 1) / kGroup * neurons * sizeof(LaneMask);
}

}  // namespace spdnn::tiles
