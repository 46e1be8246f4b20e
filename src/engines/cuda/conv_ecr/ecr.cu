#include "engines/cuda/conv_ecr/ecr.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

void convolve_nonzeros(const DirectShape& shape, const EcrTiling& tiling, Index images, const std::byte* weights,
                       const float* x, float* y, cudaStream_t stream) {
  const EcrArgs args = ecr_args(shape, tiling, images, weights, x, y);
  const std::size_t bytes = ecr_shared_bytes(shape, tiling);
  with_ecr_config(tiling, [&]<class Config> {
    const auto kernel = ecr_kernel<Config>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    kernel<<<(args.warps + kEcrWarps - 1) / kEcrWarps, kEcrWarps * 32, bytes, stream>>>(args);
    check_launch();
  });
}

}  // namespace spdnn::cuda
