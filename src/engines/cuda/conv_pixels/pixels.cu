#include "engines/cuda/conv_pixels/pixels.cuh"
#include "engines/cuda/conv_pixels/quads.cuh"
#include "engines/cuda/conv_pixels/tiles.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

struct PixelLaunch {
  unsigned blocks;
  unsigned threads;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

template <class Args>
void launch(void (*kernel)(Args), const Args& args, const PixelLaunch& of) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(of.shared_bytes)));
  launch_overlapped(kernel, of.blocks, of.threads, of.shared_bytes, of.stream, args);
}

template <Index kFilters, Index kPixels>
void launch_pixels(const PixelArgs& args, const PixelLaunch& of) {
  if (!args.shape.padded) return launch(pixels_kernel<WindowSums<kFilters, kPixels, 0>>, args, of);
  if (args.shape.kernel[0] * args.shape.kernel[1] <= 32)
    return launch(pixels_kernel<WindowSums<kFilters, kPixels, 32>>, args, of);
  launch(pixels_kernel<WindowSums<kFilters, kPixels, kMostTaps>>, args, of);
}

}  // namespace

void convolve_pixels(const PixelShape& shape, const PixelTiling& tiling, const std::byte* weights,
                     const PixelParts& parts, std::size_t shared_bytes, const float* x, bool x_is_older,
                     const Functions& functions, float* y, cudaStream_t stream) {
  const PixelArgs args{shape, tiling.warps, tiling.rounds, tiling.bundle_blocks(shape), weights, parts, x, x_is_older,
                       y,     functions};
  const PixelLaunch of{tiling.blocks(shape), tiling.block_warps() * kPixelLanes, shared_bytes, stream};
  if (tiling.rows > 0)
    return launch(tiles_kernel<kTogether, 4>, TileArgs{args, tiling.rows, tile_planes(shape, tiling)}, of);
  if (tiling.filters > 1) return launch_pixels<kTogether, 2>(args, of);
  if (tiling.pixels == 1) return launch_pixels<1, 1>(args, of);
  if (tiling.pixels == 2) return launch_pixels<1, 2>(args, of);
  if (tiling.has_quads(shape)) return launch(pixels_kernel<QuadSums>, args, of);
  launch_pixels<1, 4>(args, of);
}

}  // namespace spdnn::cuda
