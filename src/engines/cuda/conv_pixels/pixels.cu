#include "engines/cuda/conv_pixels/pixels.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

template <Index kFilters, Index kPixels, Index kTaps>
void launch_pixels(const PixelArgs& args, unsigned blocks, std::size_t shared_bytes, cudaStream_t stream) {
  const auto kernel = pixels_kernel<kFilters, kPixels, kTaps>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  launch_overlapped(kernel, blocks, kPixelThreads, shared_bytes, stream, args);
}

template <Index kFilters, Index kPixels>
void launch_pixels(const PixelArgs& args, unsigned blocks, std::size_t shared_bytes, cudaStream_t stream) {
  if (!args.shape.padded) return launch_pixels<kFilters, kPixels, 0>(args, blocks, shared_bytes, stream);
  if (args.shape.kernel[0] * args.shape.kernel[1] <= 32)
    return launch_pixels<kFilters, kPixels, 32>(args, blocks, shared_bytes, stream);
  launch_pixels<kFilters, kPixels, kMostTaps>(args, blocks, shared_bytes, stream);
}

}  // namespace

void convolve_pixels(const PixelShape& shape, const PixelTiling& tiling, const std::byte* weights,
                     const PixelParts& parts, std::size_t shared_bytes, const float* x, bool x_is_older,
                     const Functions& functions, float* y, cudaStream_t stream) {
  const PixelArgs args{shape, tiling.warps, tiling.rounds, tiling.bundle_blocks(shape), weights, parts, x, x_is_older,
                       y,     functions};
  const unsigned blocks = tiling.blocks(shape);
  if (tiling.filters > 1) return launch_pixels<11, 2>(args, blocks, shared_bytes, stream);
  if (tiling.pixels == 1) return launch_pixels<1, 1>(args, blocks, shared_bytes, stream);
  if (tiling.pixels == 2) return launch_pixels<1, 2>(args, blocks, shared_bytes, stream);
  launch_pixels<1, 4>(args, blocks, shared_bytes, stream);
}

}  // namespace spdnn::cuda
