#include "engines/cuda/conv_2to4/unfold.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

void unfold_columns(const UnfoldedPiece& piece, const ColumnSource* sources, const std::uint16_t* x,
                    std::uint16_t* matrix, cudaStream_t stream) {
  const ColumnTiles tiles = column_tiles(piece);
  unfold_columns_kernel<<<tiles.blocks, kColumnThreads, 0, stream>>>(piece, tiles, sources, x, matrix);
  check_launch();
}

}  // namespace spdnn::cuda
