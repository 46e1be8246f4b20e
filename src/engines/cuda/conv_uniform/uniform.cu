#include "engines/cuda/conv_direct/launch.cuh"
#include "engines/cuda/conv_uniform/uniform.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

template <Index kImages, bool kHalf>
void launch_form(const DirectArgs& args, std::size_t part_bytes, cudaStream_t stream) {
  const MappedReader::Source source = mapped_source(args);
  if (args.shape.stride[1] == 1)
    launch_kernel<DirectConfig<7, 1, kImages, true, kHalf>, MappedReader>(args, part_bytes, source, stream);
  else
    launch_kernel<DirectConfig<7, 0, kImages, true, kHalf>, MappedReader>(args, part_bytes, source, stream);
}

template <Index kImages>
void launch(const DirectArgs& args, std::size_t part_bytes, cudaStream_t stream) {
  if (!is_mapped(args.tiling)) throw DeviceError("conv_uniform: the copy engine cannot read the input");
  if (args.tiling.form.half)
    launch_form<kImages, true>(args, part_bytes, stream);
  else
    launch_form<kImages, false>(args, part_bytes, stream);
}

}  // namespace

void convolve_uniformly(const DirectShape& shape, const DirectTiling& tiling, const std::byte* weights,
                        std::size_t part_bytes, const std::byte* x, const Functions& functions, std::byte* y,
                        cudaStream_t stream) {
  const DirectArgs args = direct_args(shape, tiling, weights, part_bytes, x, functions, y);
  switch (tiling.form.images) {
    case 2:
      return launch<2>(args, part_bytes, stream);
    case 4:
      return launch<4>(args, part_bytes, stream);
    default:
      return launch<8>(args, part_bytes, stream);
  }
}

}  // namespace spdnn::cuda
