#include "model/csr_of_dense.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace spdnn {

CsrMatrix csr_of_dense(std::span<const float> values, Index rows, Index cols, bool by_columns) {
  const std::size_t count = values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0F));
  std::vector<Offset> offsets{0};
  offsets.reserve(std::size_t{rows} + 1);
  std::vector<Index> indices;
  indices.reserve(count);
  std::vector<float> nonzeros;
  nonzeros.reserve(count);
  const std::size_t of_row = by_columns ? 1 : cols;  // how far apart the numbers of two rows lie, and of two columns
  const std::size_t of_col = by_columns ? rows : 1;
  for (Index row = 0; row < rows; ++row) {
    for (Index col = 0; col < cols; ++col) {
      const float value = values[row * of_row + col * of_col];
      if (value == 0.0F) continue;
      indices.push_back(col);
      nonzeros.push_back(value);
    }
    offsets.push_back(indices.size());
  }
  return make_csr(rows, cols, std::move(offsets), std::move(indices), std::move(nonzeros));
}

}  // namespace spdnn
