#include <algorithm>

#include "engines/cuda/conv_direct/launch.cuh"
#include "engines/cuda/conv_direct/taps.cuh"

namespace spdnn::cuda {

namespace {

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
  launch_taps_kernel<Floats>(shape, begins, taps, bias, x, functions, y, stream);
}

}  // namespace spdnn::cuda
