#pragma once

#include "engines/cpu/tiles/kernels.hpp"
#include "spdnn/images.hpp"

namespace spdnn::tiles {

/// Tiles for the first layer, made from the images on demand, so that the images are stored once.
class InputTiles {
 public:
  void load(const ImageSet& images) { images_ = images; }
  const ImageSet& images() const { return images_; }
  bool are_bits() const { return images_.is_bits(); }

  /// Images of bits: fills the masks (neurons x kMasks<T>, neurons rounded up to kSide) of the tile whose first image
  /// is `first`. Bits are not converted to numbers.
  template <class T>
  void transpose(const Kernels<T>& kernels, Index first, LaneMask* masks) const;
  /// Other images: fills the tile (neurons x kLanes<T>).
  template <class T>
  void scatter(Index first, T* tile) const;

  /// Bytes of the masks or the tile.
  template <class T>
  std::size_t tile_bytes() const {
    const std::size_t neurons = images_.neurons();
    return are_bits() ? (neurons + kSide - 1) / kSide * kSide * kMasks<T> * sizeof(LaneMask) : neurons * kLaneBytes;
  }

 private:
  ImageSet images_;
};

}  // namespace spdnn::tiles
