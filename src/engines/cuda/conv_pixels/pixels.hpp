#pragma once

// Direct sparse convolution on rows of the device, for batches of few images: lanes are output pixels. Method: Park et
// al., Faster CNNs with Direct Sparse Convolutions and Guided Pruning (ICLR 2017), section 3.1; the division of work is
// our own. Compiled without CUDA, except for the launch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engines/cuda/conv_direct/functions.hpp"
#include "engines/cuda/layers/activation.hpp"
#include "model/operations/geometry.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::cuda {

inline constexpr Index kPixelWarps = 8;  ///< of a block
inline constexpr Index kPixelLanes = 32;
inline constexpr Index kPlaceBits = 26;  ///< of an entry's place in an image; its tap has the others
inline constexpr Index kMostTaps = 64;   ///< of a window
inline constexpr Index kNobody = 0xffffffff;

/// A convolution with any groups.
struct PixelShape : WindowAxes {
  Index images = 0;
  Index channels = 0;
  Index filters = 0;
  Index groups = 1;
  bool padded = false;  ///< some window reaches beyond the image

  SPDNN_HOST_DEVICE Index in_plane() const { return in[0] * in[1]; }
  SPDNN_HOST_DEVICE Index plane() const { return out[0] * out[1]; }
  /// Output pixels of a filter.
  SPDNN_HOST_DEVICE Index pixels() const { return images * plane(); }
};

/// Empty if its places have too many bits, or its windows too many taps.
std::optional<PixelShape> pixel_shape(const ConvolutionShape& convolution);

/// How the work is divided: a bundle of filters is computed by some warps of a block, which share its entries, for
/// `pixels` pixels of each lane.
struct PixelTiling {
  Index filters = 1;   ///< of a bundle: 1 or 11; if they are 11, an entry has a weight of each, or 0
  Index pixels = 1;    ///< of a lane: 1, 2 or 4
  Index warps = 1;     ///< of a bundle: 1, 2, 4 or 8
  Index rounds = 1;    ///< of pixels, which a block computes one after another with the same entries
  double seconds = 0;  ///< predicted

  SPDNN_HOST_DEVICE Index bundles_of_block() const { return kPixelWarps / warps; }
  std::size_t entry_bytes() const { return (filters + std::size_t{1}) * sizeof(float); }
  /// Blocks that have the same pixels.
  Index bundle_blocks(const PixelShape& shape) const;
  /// Blocks that have the same filters.
  Index pixel_blocks(const PixelShape& shape) const;
  Index blocks(const PixelShape& shape) const { return bundle_blocks(shape) * pixel_blocks(shape); }
};

/// Those that the kernel has instances of, of one round.
std::vector<PixelTiling> all_pixel_tilings();

/// The weights as the kernel reads them.
struct PackedPixelWeights {
  std::vector<Index> begins;         ///< of each bundle's entries, with those of the last block's missing bundles
  std::vector<Index> filters;        ///< of each bundle; kNobody: none
  std::vector<std::uint32_t> words;  ///< of an entry: its place in an image and its tap, then the weights
};
/// Bundles have falling numbers of entries, so that those of a block have about as many.
PackedPixelWeights packed(const PixelShape& shape, const PixelTiling& tiling, const CsrMatrix& weights);

/// The numbers of entries of packed(), without making them.
struct PackedSizes {
  std::size_t entries = 0;
  Index most_entries = 0;  ///< of a block
};
PackedSizes packed_sizes(const PixelTiling& tiling, const CsrMatrix& weights);

/// Where each part lies in the memory of the weights, in bytes; they begin with `begins`.
struct PixelParts {
  std::size_t filters = 0;
  std::size_t bias = 0;
  std::size_t words = 0;
  std::size_t bytes = 0;
};
PixelParts parts_of(const PixelShape& shape, const PixelTiling& tiling, std::size_t entries);

/// Copies the parts to the memory of the weights. `bias`: empty, or one for each filter.
void pack(const PackedPixelWeights& weights, const std::vector<float>& bias, const PixelParts& parts, std::byte* to);

/// Shared memory of a block, which begins with its entries; how much of it these take.
std::size_t pixel_shared_bytes(const PixelTiling& tiling, Index most_entries);
SPDNN_HOST_DEVICE constexpr std::size_t pixel_entries_bytes(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

/// The tilings that fit, the one that is predicted to be the fastest first. `shape` is that of the whole batch.
std::vector<PixelTiling> pixel_tilings(const PixelShape& shape, const CsrMatrix& weights, Index multiprocessors,
                                       std::size_t block_bytes);

/// y = functions(convolution of x). `weights`: of PixelParts. `x_is_older`: than the kernel before on the stream; then
/// it is read while that one still runs.
void convolve_pixels(const PixelShape& shape, const PixelTiling& tiling, const std::byte* weights,
                     const PixelParts& parts, std::size_t shared_bytes, const float* x, bool x_is_older,
                     const Functions& functions, float* y, CUstream_st* stream);

}  // namespace spdnn::cuda
