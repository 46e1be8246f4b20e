#include <algorithm>

#include "engines/cuda/conv_direct/input_map.hpp"
#include "engines/cuda/conv_direct/mapped_reader.cuh"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

namespace {

/// The copy engine reads inputs on devices that have it.
bool has_copy_engine() {
  constexpr int kFirst = 9;  // compute capability
  int device = 0;
  check(cudaGetDevice(&device));
  return device_properties(device).major >= kFirst;
}

template <Index kColumns, Index kFilters, class Reader>
void launch_with(const DirectArgs& args, std::size_t bytes, const typename Reader::Source& source,
                 cudaStream_t stream) {
  const auto kernel = args.shape.stride[1] == 1   ? direct_kernel<kColumns, kFilters, 1, Reader>
                      : args.shape.stride[1] == 2 ? direct_kernel<kColumns, kFilters, 2, Reader>
                                                  : direct_kernel<kColumns, kFilters, 0, Reader>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const Index down = (args.shape.out[0] + kTileRows - 1) / kTileRows;
  const Index grid = args.across * down * args.tiling.filter_blocks * args.shape.blocks;
  kernel<<<grid, kDirectThreads, bytes, stream>>>(args, source);
  check_launch();
}

template <Index kColumns, Index kFilters>
void launch(const DirectArgs& args, std::size_t part_bytes, cudaStream_t stream) {
  const DirectTiling& tiling = args.tiling;
  const std::size_t bytes = direct_shared_bytes(tiling, part_bytes) - kPixelBytes;  // the barriers are not dynamic
  if (has_copy_engine() && std::max(tiling.rows_read, tiling.columns_read) <= kMostOfBox)
    launch_with<kColumns, kFilters, MappedReader>(
        args, bytes, {input_map(args.shape, tiling.channels, {tiling.rows_read, tiling.columns_read}, {1, 1}, args.x)},
        stream);
  else
    launch_with<kColumns, kFilters, ThreadsReader>(args, bytes, {}, stream);
}

}  // namespace

void convolve_directly(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                       std::size_t part_bytes, const float* x, const Functions& functions, float* y,
                       cudaStream_t stream) {
  const DirectArgs args = direct_args(shape, tiling, weights, part_bytes, x, functions, y);
  switch (tiling.columns) {
    case 7:
      return launch<7, 3>(args, part_bytes, stream);
    case 4:
      return launch<4, 4>(args, part_bytes, stream);
    case 2:
      return launch<2, 6>(args, part_bytes, stream);
    default:
      return launch<1, 8>(args, part_bytes, stream);
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
