#include "report/network/spy.hpp"

#include <algorithm>

#include "core/threads/parallel.hpp"

namespace spdnn::network_sections {

Grid spy(const CsrMatrix& matrix, Index most) {
  Grid grid{.height = matrix.rows,
            .width = matrix.cols,
            .rows = std::min(matrix.rows, most),
            .columns = std::min(matrix.cols, most)};
  grid.counts.assign(grid.rows * grid.columns, 0);
  // One row of cells is one task, so no two threads write to the same cell.
  parallel_for(grid.rows, [&](std::size_t row) {
    const auto begin = static_cast<Index>(Grid::first_in(row, grid.rows, grid.height));
    const auto end = static_cast<Index>(Grid::first_in(row + 1, grid.rows, grid.height));
    for (Offset k = matrix.offsets[begin]; k < matrix.offsets[end]; ++k)
      ++grid.counts[row * grid.columns + matrix.indices[k] * grid.columns / grid.width];
  });
  return grid;
}

}  // namespace spdnn::network_sections
