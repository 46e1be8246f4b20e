#include <algorithm>

#include "engines/cuda/conv_lowered/unfold.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

void unfold(const float* x, const Unfolding& unfolding, float* matrix, cudaStream_t stream) {
  constexpr Index kWarps = kUnfoldThreads / 32;
  constexpr Index kMostBlocks = 1U << 16U;
  const Index pieces = unfold_pieces(unfolding);
  const Index blocks = std::min((pieces + kWarps - 1) / kWarps, kMostBlocks);
  unfold_kernel<<<blocks, kUnfoldThreads, 0, stream>>>(x, unfolding, pieces, matrix);
  check_launch();
}

}  // namespace spdnn::cuda
