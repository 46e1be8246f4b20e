#include "engines/cuda/conv_direct/moves.cuh"

namespace spdnn::cuda {

void gather(const float* x, const Gathering& gathering, const Index* table, float* y, cudaStream_t stream) {
  const unsigned grid = element_blocks(gathering.blocks * gathering.results, gathering.together);
  launch_overlapped(gather_kernel, grid, kElementThreads, 0, stream, x, gathering, table, y);
}

void resize(const float* x, const Resizing& resizing, const Interpolation* taps, float* y, cudaStream_t stream) {
  const unsigned grid = element_blocks(resizing.planes * resizing.out[0] * resizing.out[1], resizing.together);
  launch_overlapped(resize_kernel, grid, kElementThreads, 0, stream, x, resizing, taps, y);
}

}  // namespace spdnn::cuda
