#include "io/networks/text/row_order.hpp"

#include <vector>

namespace spdnn {

std::optional<std::pair<Index, Index>> repeated_entry(const CsrMatrix& matrix) {
  std::vector<Index> columns;
  for (Index row = 0; row < matrix.rows; ++row) {
    columns.assign(matrix.row(row).begin(), matrix.row(row).end());
    std::sort(columns.begin(), columns.end());
    const auto twice = std::adjacent_find(columns.begin(), columns.end());
    if (twice != columns.end()) return std::pair{row, *twice};
  }
  return std::nullopt;
}

}  // namespace spdnn
