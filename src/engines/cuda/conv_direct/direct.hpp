#pragma once

// Direct sparse convolution on images32, driven by data: the non-zero weights are a stream of offsets and values,
// without unfolding the input. Method: Park et al., Faster CNNs with Direct Sparse Convolutions and Guided Pruning
// (ICLR 2017), section 3.1, and Chen, Escort: Efficient Sparse Convolutional Neural Networks on GPUs (2019), section 3.
// Compiled without CUDA, except for the launch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engines/cuda/conv_direct/functions.hpp"
#include "engines/cuda/layers/activation.hpp"
#include "model/operations/geometry.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::cuda {

inline constexpr Index kDirectWarps = 16;  ///< of a block
inline constexpr Index kNoFilter = 0xffffffff;
inline constexpr std::size_t kPixelBytes = 128;  ///< of 32 images in fp32

/// A convolution without groups as the kernel sees it. A pixel is one of a channel, of 32 images: 32 floats. Steps are
/// in pixels.
struct DirectShape : WindowAxes {
  Index channels = 0;
  Index filters = 0;
  Index blocks = 0;  ///< of images
  std::size_t in_block = 0, in_channel = 0, in_row = 0;
  std::size_t out_block = 0, out_channel = 0, out_row = 0;
};

/// Of tensors in images32; with groups, as convolve_by_taps() takes it.
DirectShape direct_shape(const ConvolutionShape& convolution);

/// The shape that is divided into tiles: images of one pixel, under windows of one, become a column of pixels, so that
/// tiles have several.
DirectShape shape_to_tile(DirectShape shape);
/// Such a column, of products of a matrix with rows of `inputs` numbers. A row is a block of 32 images, and in these
/// all that comes before the last axis.
DirectShape product_shape(Index inputs, Index outputs, Extent rows);

/// Products that are added in fp16 before their sum is added in fp32, in a form for halves.
inline constexpr Index kTermsInHalves = 16;

/// How an instance of the kernel is made: the default is that of conv_direct, equal ones are those of conv_uniform.
struct DirectForm {
  Index images = 4;    ///< of a lane: 2, 4 or 8. A tile has as many rows of output pixels, as a warp has all images
  bool equal = false;  ///< the filters of a warp have equally many entries in a chunk: weights of 0 fill them up
  bool half = false;   ///< input, weights and output are fp16; with four images of a lane, or an equal form

  /// Forms that are only compared with others fuse none: the code of functions is most of an instance.
  SPDNN_HOST_DEVICE constexpr bool has_functions() const { return !equal && !half; }
  SPDNN_HOST_DEVICE constexpr std::size_t pixel_bytes() const { return half ? kPixelBytes / 2 : kPixelBytes; }
};

/// The filters of a warp whose sums fit into registers, for tiles of 7, 4, 2 or 1 columns.
constexpr Index filters_of_warp(Index columns, const DirectForm& form) {
  const Index with_four_images = columns == 7 ? 3 : columns == 4 ? 4 : columns == 2 ? 6 : 8;
  if (form.equal && form.half) return 8 / form.images;  // sums of halves and those of fp32 take registers
  return with_four_images * 4 / form.images;
}

/// How the work is divided: a block of threads computes form.images x `columns` pixels of 16 x `filters` outputs, of 32
/// images, and goes through the input `channels` channels at a time.
struct DirectTiling {
  DirectForm form{};
  Index columns = 0;   ///< of a tile: 7, 4, 2 or 1
  Index filters = 0;   ///< of a warp
  Index channels = 0;  ///< of a chunk
  Index chunks = 0;    ///< of the input's channels
  Index filter_blocks = 0;
  Index rows_read = 0;  ///< of a tile's input
  Index columns_read = 0;

  SPDNN_HOST_DEVICE std::size_t tile_bytes() const {
    return std::size_t{channels} * rows_read * columns_read * form.pixel_bytes();
  }
};

/// The shape that is divided into tiles. In 1x1 convolutions that change neither extents nor places, images whose
/// pixels are a multiple of `columns` are rows of `columns` pixels, so that tiles have no empty columns.
DirectShape tiled_shape(const DirectShape& shape, Index columns);

/// A device's multiprocessors, each of which has one block, and the shared memory that a block may have.
struct DirectDevice {
  Index multiprocessors;
  std::size_t block_bytes;
};
/// All tilings whose blocks fit, by columns; none if not even one channel fits, or if there are too many items.
std::vector<DirectTiling> direct_tilings(const DirectShape& shape, std::size_t nonzeros, const DirectDevice& device,
                                         const DirectForm& form = {});
/// The one that is predicted to be the fastest, if there is one.
std::optional<DirectTiling> direct_tiling(const DirectShape& shape, std::size_t nonzeros, const DirectDevice& device,
                                          const DirectForm& form = {});
/// What the blocks of a launch share among them: tiles of all images, for blocks of filters.
std::size_t direct_items(const DirectShape& shape, const DirectTiling& tiling);

/// Predicted seconds of a launch. All items take about as long, so that a launch of few takes as long as one with an
/// item for each multiprocessor. `entries`: DirectWeights::entries().
double direct_seconds(const DirectShape& shape, const DirectTiling& tiling, std::size_t entries, Index multiprocessors);

/// The weights as the kernel reads them, one array after another:
///   Index starts[filter_blocks x chunks + 1]     where the part of a block and chunk begins, in bytes from the array
///   Index filters[filter_blocks x 16 x filters]  whose outputs each warp computes; kNoFilter: none
///   float bias[shape.filters]
///   parts, each aligned to 16 bytes: Index begins[lists + 1], in entries of 8 bytes from the part, then
///   entries: the offset of the input pixel in the tile in bytes, and the weight, twice if it is a half
/// A filter is a list, 16 x filters in all, and filters are dealt to the warps by their numbers of non-zeros, so that
/// all have about as many. In an equal form a warp is a list: the first entry of each of its filters, the second of
/// each, and so on; filters with about as many non-zeros share a warp.
class DirectWeights {
 public:
  static constexpr std::size_t kEntryBytes = 8;

  /// The entries of all parts, with those of weight 0.
  static std::size_t entries(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights);
  /// At least the bytes that pack() writes for so many entries.
  static std::size_t bytes(const DirectShape& shape, const DirectTiling& tiling, std::size_t entries);
  /// `bias`: null, or one for each filter.
  static void pack(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights, const float* bias,
                   std::byte* to);
  /// The largest part in bytes.
  static std::size_t largest_part(const DirectShape& shape, const DirectTiling& tiling, const CsrMatrix& weights);

  static std::size_t head_bytes(const DirectTiling& tiling);  ///< of a part, before its entries
  static std::size_t filters_at(const DirectTiling& tiling);
  static std::size_t bias_at(const DirectTiling& tiling);
  static std::size_t parts_at(const DirectShape& shape, const DirectTiling& tiling);
};

/// Shared memory for a chunk: its tile and its part of the weights.
std::size_t direct_stage_bytes(const DirectTiling& tiling, std::size_t part_bytes);
/// Shared memory of a block: its chunks with their padding, and the barriers that signal their arrival.
std::size_t direct_shared_bytes(const DirectTiling& tiling, std::size_t part_bytes);

/// y = functions(convolution of x). `part_bytes`: largest_part().
void convolve_directly(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                       std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y,
                       CUstream_st* stream);
/// Likewise with a tiling of a form for halves. DeviceError if the copy engine cannot read the input.
void convolve_halves(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                     std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y,
                     CUstream_st* stream);

/// A non-zero weight of a grouped convolution: the input pixel of output pixel (p, q) is (p stride + row, q stride +
/// column) of a channel.
struct Tap {
  Index channel;
  std::int32_t row;
  std::int32_t column;
  float weight;
};

/// A convolution with any groups, in which each output reads its taps from device memory: for depthwise ones, which
/// have few. `taps` of filter k are begins[k] .. begins[k+1]-1.
void convolve_by_taps(const DirectShape& shape, const Index* begins, const Tap* taps, const float* bias, const float* x,
                      const Functions& functions, float* y, CUstream_st* stream);

}  // namespace spdnn::cuda
