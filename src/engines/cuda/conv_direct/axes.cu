#include "engines/cuda/conv_direct/axes.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

void normalize(const float* x, std::size_t blocks, std::size_t channels, std::size_t plane,
               const Normalization* by_channel, float* y, cudaStream_t stream) {
  const std::size_t elements = blocks * channels * plane;
  normalize_kernel<<<element_blocks(elements), kElementThreads, 0, stream>>>(x, elements, channels, plane, by_channel,
                                                                             y);
  check_launch();
}

void softmax(const float* x, std::size_t lines, std::size_t length, std::size_t inner, float* y, cudaStream_t stream) {
  softmax_kernel<<<element_blocks(lines), kElementThreads, 0, stream>>>(x, lines, length, inner, y);
  check_launch();
}

void reduce_axes(const float* x, const Reduction& reduction, const Index* places, float* y, cudaStream_t stream) {
  const unsigned grid = element_blocks(reduction.blocks * reduction.results);
  reduce_kernel<<<grid, kElementThreads, 0, stream>>>(x, reduction, places, y);
  check_launch();
}

}  // namespace spdnn::cuda
