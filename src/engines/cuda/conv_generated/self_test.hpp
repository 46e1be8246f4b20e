#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace spdnn::cuda {

/// Fills an array with numbers from -0.25 to 0.75, the same for the same seed.
void fill_randomly(float* to, std::size_t count, std::uint32_t seed, cudaStream_t stream);

/// Likewise with two numbers of fp16 for each of `count` words.
void fill_randomly_with_halves(float* to, std::size_t count, std::uint32_t seed, cudaStream_t stream);

/// A hash of the numbers' bits and places; waits for the stream. Different arrays have different hashes, up to one
/// case in 2^64 or so.
std::uint64_t hash_of_bits(const float* from, std::size_t count, cudaStream_t stream);

}  // namespace spdnn::cuda
