#include "engines/cpu/tiles/inputs.hpp"

#include <algorithm>
#include <cstring>

namespace spdnn::tiles {

template <class T>
void InputTiles::transpose(const Kernels<T>& kernels, Index first, LaneMask* masks) const {
  const BitMatrix& bits = images_.bits();
  const Index count = std::min(kLanes<T>, bits.rows - first);
  Strip strip;
  for (Index neuron = 0; neuron < bits.cols; neuron += kSide * kSquares) {
    const Index squares = std::min(kSquares, (bits.cols - neuron + kSide - 1) / kSide);
    std::memset(strip.words, 0, sizeof strip.words);
    for (Index i = 0; i < count; ++i) {
      const std::uint64_t* words = bits.row(first + i) + neuron / 64;
      __builtin_prefetch(words + kSquares / 2);  // the next strip's: too far apart for the hardware to guess
      for (Index s = 0; s < squares; ++s)
        strip.words[i][s] = static_cast<std::uint32_t>(words[s / 2] >> (s % 2 * kSide));
    }
    kernels.transpose(strip, squares, masks + std::size_t{neuron} * kMasks<T>);
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

template void InputTiles::transpose<float>(const Kernels<float>&, Index, LaneMask*) const;
template void InputTiles::transpose<double>(const Kernels<double>&, Index, LaneMask*) const;
template void InputTiles::scatter<float>(Index, float*) const;
template void InputTiles::scatter<double>(Index, double*) const;

}  // namespace spdnn::tiles
