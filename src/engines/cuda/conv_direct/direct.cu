#include <algorithm>

#include "engines/cuda/conv_direct/launch.cuh"

namespace spdnn::cuda {

namespace {

__global__ void __launch_bounds__(256)
    taps_kernel(const __grid_constant__ DirectShape shape, const Index* begins, const Tap* taps, const float* bias,
                const float* x, const __grid_constant__ Functions functions, float* y) {
  const Index lane = threadIdx.x % 32;
  const std::size_t plane = std::size_t{shape.out[0]} * shape.out[1];
  const std::size_t count = shape.blocks * shape.filters * plane;
  const std::size_t warps = std::size_t{gridDim.x} * (blockDim.x / 32);
  for (std::size_t i = std::size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32; i < count; i += warps) {
    const auto filter = static_cast<Index>(i / plane % shape.filters);
    const auto pixel = static_cast<Index>(i % plane);
    const auto row = static_cast<int>(pixel / shape.out[1] * shape.stride[0]);
    const auto column = static_cast<int>(pixel % shape.out[1] * shape.stride[1]);
    const float* from = x + i / plane / shape.filters * shape.in_block * 32 + lane;
    float sum = 0;
    for (Index t = begins[filter]; t < begins[filter + 1]; ++t) {
      const Tap tap = taps[t];
      const auto at_row = static_cast<Index>(row + tap.row);  // beyond H where it is negative
      const auto at_column = static_cast<Index>(column + tap.column);
      if (at_row >= shape.in[0] || at_column >= shape.in[1]) continue;
      sum = fmaf(tap.weight, from[(tap.channel * shape.in_channel + at_row * shape.in_row + at_column) * 32], sum);
    }
    const std::size_t place = i * 32 + lane;
    y[place] = apply(functions, sum + bias[filter], place);
  }
}

template <class Config>
void launch_config(const DirectArgs& args, std::size_t part_bytes, cudaStream_t stream) {
  if (is_mapped(args.tiling))
    launch_kernel<Config, MappedReader>(args, part_bytes, mapped_source(args), stream);
  else
    launch_kernel<Config, ThreadsReader<>>(args, part_bytes, {}, stream);
}

template <Index kColumns>
void launch(const DirectArgs& args, std::size_t part_bytes, cudaStream_t stream) {
  switch (args.shape.stride[1]) {
    case 1:
      return launch_config<DirectConfig<kColumns, 1>>(args, part_bytes, stream);
    case 2:
      return launch_config<DirectConfig<kColumns, 2>>(args, part_bytes, stream);
    default:
      return launch_config<DirectConfig<kColumns, 0>>(args, part_bytes, stream);
  }
}

}  // namespace

void convolve_directly(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                       std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y,
                       cudaStream_t stream) {
  const DirectArgs args = direct_args(shape, tiling, weights, part_bytes, x, functions, y);
  switch (tiling.columns) {
    case 7:
      return launch<7>(args, part_bytes, stream);
    case 4:
      return launch<4>(args, part_bytes, stream);
    case 2:
      return launch<2>(args, part_bytes, stream);
    default:
      return launch<1>(args, part_bytes, stream);
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
