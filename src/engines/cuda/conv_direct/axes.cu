#include "engines/cuda/conv_direct/axes.cuh"

namespace spdnn::cuda {

void normalize(const float* x, std::size_t blocks, Index together, std::size_t channels, std::size_t plane,
               const Normalization* by_channel, float* y, cudaStream_t stream) {
  const std::size_t elements = blocks * channels * plane;
  launch_overlapped(normalize_kernel, element_blocks(elements, together), kElementThreads, 0, stream, x, elements,
                    together, channels, plane, by_channel, y);
}

void softmax(const float* x, std::size_t lines, Index together, std::size_t length, std::size_t inner, float* y,
             cudaStream_t stream) {
  if (together == 1)
    return launch_overlapped(softmax_rows_kernel, element_blocks(lines, kLanes), kElementThreads, 0, stream, x, lines,
                             length, inner, y);
  launch_overlapped(softmax_kernel, element_blocks(lines, together), kElementThreads, 0, stream, x, lines, together,
                    length, inner, y);
}

void reduce_axes(const float* x, const Reduction& reduction, const Index* places, float* y, cudaStream_t stream) {
  const unsigned grid = element_blocks(reduction.blocks * reduction.results, reduction.together);
  launch_overlapped(reduce_kernel, grid, kElementThreads, 0, stream, x, reduction, places, y);
}

void multiply_matrices(const float* a, const float* b, std::size_t blocks, Index together, const MatrixProduct& product,
                       float* y, cudaStream_t stream) {
  std::size_t matrices = blocks;
  for (Index axis = 0; axis < product.matrices.axes; ++axis) matrices *= product.matrices.extents[axis];
  const std::size_t squares = matrices * squares_of(product.rows) * squares_of(product.columns);
  launch_overlapped(product_kernel, element_blocks(squares, together), kElementThreads, 0, stream, a, b, squares,
                    together, product, y);
}

}  // namespace spdnn::cuda
