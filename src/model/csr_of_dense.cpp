#include "model/csr_of_dense.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace spdnn {

CsrMatrix csr_of_dense(std::span<const float> values, Index rows, Index cols) {
  const std::size_t count = values.size() - static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0F));
  std::vector<Offset> offsets{0};
  offsets.reserve(std::size_t{rows} + 1);
  std::vector<Index> indices;
  indices.reserve(count);
  std::vector<float> nonzeros;
  nonzeros.reserve(count);
  for (Index row = 0; row < rows; ++row) {
    const std::span<const float> of_row = values.subspan(std::size_t{row} * cols, cols);
    for (Index col = 0; col < cols; ++col) {
      if (of_row[col] == 0.0F) continue;
      indices.push_back(col);
      nonzeros.push_back(of_row[col]);
    }
    offsets.push_back(indices.size());
  }
  return make_csr(rows, cols, std::move(offsets), std::move(indices), std::move(nonzeros));
}

}  // namespace spdnn
