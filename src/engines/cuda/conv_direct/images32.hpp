#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

// Images of `elements` numbers each: `rows` has one after another, `blocks` is images32. Both are on the device.

/// Fills up the last block with zeros.
void rows_to_images32(const float* rows, std::size_t images, std::size_t elements, float* blocks, cudaStream_t stream);
void images32_to_rows(const float* blocks, std::size_t images, std::size_t elements, float* rows, cudaStream_t stream);

/// Images of `elements` numbers each, in blocks of `together`, and a limit for their numbers.
struct WatchedTensor {
  const float* numbers = nullptr;
  std::size_t images = 0;
  std::size_t elements = 0;
  Index together = 0;
  float most = 0;
};
/// Sets beyond[i] to 0 if all numbers of tensor i are of a magnitude up to its limit, otherwise, for NaN too, to 1.
/// What fills up the last block does not count.
void watch_numbers(const std::vector<WatchedTensor>& tensors, float* beyond, cudaStream_t stream);

}  // namespace spdnn::cuda
