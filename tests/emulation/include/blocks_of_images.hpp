#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "spdnn/tensor.hpp"

namespace spdnn::cuda {

/// Images as images32, and back.
inline std::vector<float> blocked(const Tensor& tensor, std::size_t images, std::size_t elements) {
  std::vector<float> blocks((images + 31) / 32 * elements * 32);
  for (std::size_t i = 0; i < images; ++i)
    for (std::size_t e = 0; e < elements; ++e)
      blocks[(i / 32 * elements + e) * 32 + i % 32] = tensor.values[i * elements + e];
  return blocks;
}

inline Array<float> in_rows(const std::vector<float>& blocks, std::size_t images, std::size_t elements) {
  std::vector<float> rows(images * elements);
  for (std::size_t i = 0; i < images; ++i)
    for (std::size_t e = 0; e < elements; ++e) rows[i * elements + e] = blocks[(i / 32 * elements + e) * 32 + i % 32];
  return Array<float>(std::move(rows));
}

}  // namespace spdnn::cuda
