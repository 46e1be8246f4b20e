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
inline constexpr Index kTileWarps = 16;  ///< of a block whose input is in shared memory
inline constexpr Index kPixelLanes = 32;
inline constexpr Index kTogether = 11;   ///< filters of a bundle, if it has several
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
  Index rows = 0;      ///< of output, a tile, whose input a block copies to shared memory; 0: it reads what it needs
  double seconds = 0;  ///< predicted

  /// A lane's four pixels are neighbours, in input and output alike, and 16 bytes of memory.
  bool has_quads(const PixelShape& shape) const;
  Index block_warps() const { return rows > 0 ? kTileWarps : kPixelWarps; }
  Index bundles_of_block() const { return block_warps() / warps; }
  std::size_t entry_bytes() const { return (filters + std::size_t{1}) * sizeof(float); }
  /// Blocks that have the same pixels.
  Index bundle_blocks(const PixelShape& shape) const;
  /// Blocks that have the same filters.
  Index pixel_blocks(const PixelShape& shape) const;
  Index blocks(const PixelShape& shape) const { return bundle_blocks(shape) * pixel_blocks(shape); }
};

/// Those that the kernels have instances of, of one round.
std::vector<PixelTiling> all_pixel_tilings(const PixelShape& shape);

/// The input of a tile in shared memory. Each channel has the rows and columns that the tile's windows read, with zeros
/// for those beyond the image. Rows and columns that are a stride apart follow one another, so that a tap of all
/// windows is a plane in which neighbouring pixels are neighbours, and those of the next row `pitch` numbers further.
struct TilePlanes {
  Index read[2]{};     ///< rows and columns
  Index stride[2]{};   ///< of the windows
  Index inverse[2]{};  ///< of the strides, times 2^16, rounded up
  Index pitch = 0;     ///< of a row
  Index plane = 0;     ///< numbers of rows and columns that are a stride apart
  Index channel = 0;   ///< numbers of a channel, as many as its pixels and the idle lanes beyond them may read

  SPDNN_HOST_DEVICE Index place(Index row, Index column) const {
    const Index across[2] = {over_stride(row, 0), over_stride(column, 1)};
    const Index number = (row - across[0] * stride[0]) * stride[1] + column - across[1] * stride[1];
    return number * plane + across[0] * pitch + across[1];
  }
  /// Divides by the stride, of an axis. Exact for strides of up to 16 and quotients below 256.
  SPDNN_HOST_DEVICE Index over_stride(Index number, std::size_t axis) const { return number * inverse[axis] >> 16U; }
};
TilePlanes tile_planes(const PixelShape& shape, const PixelTiling& tiling);

/// Tilings with the input in shared memory: a row of the output, or as many as the lanes have pixels for.
std::vector<PixelTiling> tile_tilings(const PixelShape& shape);
/// Seconds of a kernel after another, of the kernel whose input is in shared memory. `entries`: of a bundle, the most.
double tile_seconds(const PixelShape& shape, const PixelTiling& tiling, Index entries, Index multiprocessors);

/// Entries of each bundle of so many filters: columns in which any of them has a weight.
std::vector<Index> entries_of_bundles(const CsrMatrix& weights, Index filters);
/// Of a block, with the entries of each bundle.
Index most_entries(const PixelShape& shape, const PixelTiling& tiling, const std::vector<Index>& entries);

/// The weights as the kernels read them. All blocks have room for as many entries, so that a block finds its own
/// without reading where they begin.
struct PackedPixelWeights {
  std::vector<Index> begins;         ///< by block, of each bundle's entries within it; an end
  std::vector<Index> filters;        ///< of each bundle; kNobody: none
  std::vector<std::uint32_t> words;  ///< of an entry: its place in an image and its tap, then the weights
};
PackedPixelWeights packed(const PixelShape& shape, const PixelTiling& tiling, const CsrMatrix& weights);

/// Where each part lies in the memory of the weights, in bytes; they begin with `begins`.
struct PixelParts {
  Index entries = 0;  ///< of a block
  std::size_t filters = 0;
  std::size_t bias = 0;
  std::size_t words = 0;
  std::size_t bytes = 0;
};
PixelParts parts_of(const PixelShape& shape, const PixelTiling& tiling, const CsrMatrix& weights);

/// Copies the parts to the memory of the weights. `bias`: empty, or one for each filter.
void pack(const PackedPixelWeights& weights, const std::vector<float>& bias, const PixelParts& parts, std::byte* to);

/// Shared memory of a block, which begins with its entries; how much of it these take.
std::size_t pixel_shared_bytes(const PixelShape& shape, const PixelTiling& tiling, Index entries);
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
