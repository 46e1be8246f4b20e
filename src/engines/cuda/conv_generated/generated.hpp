#pragma once

// Convolutions by code that is generated for their weights: non-zero weights and the places they read are part of the
// instructions. Method: Wang, SparseRT: Accelerating Unstructured Sparsity on GPUs for Deep Learning Inference (PACT
// 2021), section 4; the form for Hopper, described in README.md, is our own. Compiled without CUDA.

#include <cstddef>
#include <string>
#include <vector>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/conv_direct/functions.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn::cuda {

/// What the choice of a tiling depends on.
struct GeneratedLimits {
  Index multiprocessors = 0;
  std::size_t shared_bytes = 0;  ///< of a block of threads
  std::size_t l2_bytes = 0;
  double clock = 0;  ///< Hz
};

/// How the work is divided. A kernel computes some filters: a block of threads computes a tile of output pixels, a
/// warp for each pixel and a lane for each image, and reads the input some channels at a time.
struct GeneratedTiling {
  Index tile[2]{};       ///< output pixels: rows, columns
  Index read[2]{};       ///< input pixels that a tile reads
  Index steps[2]{1, 1};  ///< from one of these to the next: the stride of filters of one pixel, otherwise 1
  Index channels = 0;    ///< of a chunk
  Index chunks = 0;      ///< of the input's channels; a multiple of `stages`
  Index stages = 0;      ///< chunks in shared memory at a time
  Index kernels = 0;
  bool streams = false;  ///< input and output are too large to stay in the L2 cache
  // Parts of the form that bench conv may leave out, to see their worth; hints, which follow from `streams`, are
  // another.
  bool one_polls = true;    ///< the first warp waits for chunks, and the others for that one
  bool blocks_stay = true;  ///< and go on from tile to tile; else there is a block of threads for each tile
  double seconds = 0;       ///< predicted

  Index threads() const { return tile[0] * tile[1] * 32; }
  std::size_t stage_bytes() const { return std::size_t{channels} * read[0] * read[1] * kPixelBytes; }
  std::size_t shared_bytes() const { return stages * stage_bytes(); }
  /// Of a block of images.
  Index tiles(const DirectShape& shape) const {
    return ((shape.out[0] + tile[0] - 1) / tile[0]) * ((shape.out[1] + tile[1] - 1) / tile[1]);
  }
};

/// The same convolution with its pixels in one row, if none reads more than one; otherwise as it is.
DirectShape flattened(DirectShape shape);

/// The tilings that fit, the one that is predicted to be the fastest first. `shape` is that of the whole batch.
std::vector<GeneratedTiling> generated_tilings(const DirectShape& shape, const CsrMatrix& weights,
                                               const GeneratedLimits& limits);

/// Leaves a part of the form out: "hints", "polling" or "persistence".
void leave_out(GeneratedTiling& tiling, const std::string& part);

/// The filters of each kernel, in increasing order: so dealt that all kernels have about as many non-zeros.
std::vector<std::vector<Index>> filters_by_kernel(const GeneratedTiling& tiling, const CsrMatrix& weights);

/// The weights, and what follows the sums.
struct GeneratedLayer {
  const DirectShape& shape;
  const GeneratedTiling& tiling;
  const CsrMatrix& weights;
  const float* bias;  ///< null, or one for each filter
  /// Those that can_be_generated(); the address of an addition's operand is an argument of the kernel.
  const std::vector<Function>& functions;
  /// A lane has two images, in fp16, of blocks of 64. All is computed in fp16, sums included; where a number exceeds
  /// it, the result is NaN, whatever function follows.
  bool in_halves = false;
};

/// Whether code can be generated for these functions: in halves, for those whose numbers are within fp16.
bool can_be_generated(const std::vector<Function>& functions, bool in_halves);

/// The kernel `convolve` for some filters, in PTX. Its arguments: the map of the input (64 x 16 bits), the address of
/// the output, the number of tiles of all blocks of images, the address of a counter of 32 bits, which is 0 before and
/// after a run, the address of each addition's operand.
std::string generated_code(const GeneratedLayer& layer, const std::vector<Index>& filters);

/// Of all that a layer's machine code depends on, the compiler and the architecture included: 32 digits.
std::string digest_of(const GeneratedLayer& layer, const std::string& compiler, const std::string& arch);

}  // namespace spdnn::cuda
