#include <algorithm>

#include "engines/cuda/conv_direct/direct.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

template <Index kColumns, Index kFilters>
void launch(const DirectArgs& args, cudaStream_t stream) {
  const auto kernel = args.shape.stride[1] == 1   ? direct_kernel<kColumns, kFilters, 1>
                      : args.shape.stride[1] == 2 ? direct_kernel<kColumns, kFilters, 2>
                                                  : direct_kernel<kColumns, kFilters, 0>;
  const std::size_t bytes = direct_shared_bytes(args.tiling, args.stage_bytes - args.tiling.tile_bytes());
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const Index down = (args.shape.out[0] + kTileRows - 1) / kTileRows;
  const Index grid = args.across * down * args.tiling.filter_blocks * args.shape.blocks;
  kernel<<<grid, kDirectThreads, bytes, stream>>>(args);
  check_launch();
}

}  // namespace

void convolve_directly(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                       std::size_t part_bytes, const float* x, const Functions& functions, float* y,
                       cudaStream_t stream) {
  const DirectArgs args = direct_args(shape, tiling, weights, part_bytes, x, functions, y);
  switch (tiling.columns) {
    case 7:
      return launch<7, 3>(args, stream);
    case 4:
      return launch<4, 4>(args, stream);
    case 2:
      return launch<2, 6>(args, stream);
    default:
      return launch<1, 8>(args, stream);
  }
}

void convolve_by_taps(const DirectShape& shape, const Index* begins, const Tap* taps, const float* bias, const float* x,
                      const Functions& functions, float* y, cudaStream_t stream) {
  const std::size_t count = std::size_t{shape.blocks} * shape.filters * shape.out[0] * shape.out[1];
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(count / 8 + 1, 1U << 16U));
  taps_kernel<<<blocks, 256, 0, stream>>>(shape, begins, taps, bias, x, functions, y);
  check_launch();
}

}  // namespace spdnn::cuda
