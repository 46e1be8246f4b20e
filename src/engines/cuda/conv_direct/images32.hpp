#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace spdnn::cuda {

// Images of `elements` numbers each: `rows` has one after another, `blocks` is images32. Both are on the device.

/// Fills up the last block with zeros.
void rows_to_images32(const float* rows, std::size_t images, std::size_t elements, float* blocks, cudaStream_t stream);
void images32_to_rows(const float* blocks, std::size_t images, std::size_t elements, float* rows, cudaStream_t stream);

/// Sets *beyond to 0 if all numbers of the images are of a magnitude up to `most`, otherwise, for NaN too, to 1. What
/// fills up the last block does not count.
void watch_numbers(const float* blocks, std::size_t images, std::size_t elements, float most, float* beyond,
                   cudaStream_t stream);

}  // namespace spdnn::cuda
