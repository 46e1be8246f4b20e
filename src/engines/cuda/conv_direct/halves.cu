#include "engines/cuda/conv_direct/launch.cuh"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

void convolve_halves(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                     std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y,
                     cudaStream_t stream) {
  if (!is_mapped(tiling)) throw DeviceError("conv_direct in fp16: the copy engine cannot read the input");
  const DirectArgs args = direct_args(shape, tiling, weights, part_bytes, x, functions, y);
  const MappedReader::Source source = mapped_source(args);
  if (shape.stride[1] == 1)
    launch_kernel<DirectConfig<7, 1, 4, false, true>, MappedReader>(args, part_bytes, source, stream);
  else
    launch_kernel<DirectConfig<7, 0, 4, false, true>, MappedReader>(args, part_bytes, source, stream);
}

}  // namespace spdnn::cuda
