#pragma once

#include "engines/cpu/host_memory.hpp"
#include "engines/cpu/tile_kernels.hpp"
#include "spdnn/images.hpp"

namespace spdnn::tiles {

/// The loaded images as tiles for the first layer: bits transposed once, to one mask of 32 images per neuron, so that
/// images of zeros and ones never become numbers; other images scattered into a tile when it is asked for.
class InputTiles {
 public:
  void load(const ImageSet& images, int threads);
  const ImageSet& images() const { return images_; }
  bool are_bits() const { return images_.is_bits(); }

  /// The masks of tile `tile` and the bit of its first lane. Bits only.
  template <class T>
  const LaneMask* masks(Index tile, unsigned* first_bit) const {
    const Index image = tile * kLanes<T>;
    *first_bit = image % kGroup;
    return masks_.data() + std::size_t{image / kGroup} * images_.neurons();
  }
  /// Fills tile `tile` (neurons x kLanes<T>). Other than bits only.
  template <class T>
  void scatter(Index tile, T* output) const;

  /// Bytes besides the images themselves.
  static std::size_t bytes(Index neurons, Index images);

 private:
  static constexpr Index kGroup = 32;  ///< images to a mask

  ImageSet images_;
  HostMemory<LaneMask> masks_;  ///< groups x neurons
};

}  // namespace spdnn::tiles
