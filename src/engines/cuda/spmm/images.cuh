#pragma once

// Images in tiles: bits and CSR expanded into them, their flags and hashes, duplicates confirmed, and those kept moved
// together. A thread has an image and a share of its neurons, so that neighbouring threads read neighbouring images.
// Bound: device memory.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/retire/row_steps.cuh"
#include "engines/cuda/runtime/launch.hpp"
#include "engines/cuda/spmm/tiles.cuh"

namespace spdnn::cuda::spmm {

/// Expands bits into tiles: one thread per word of an image. Images that do not exist become zeros.
__global__ void expand_bits_kernel(const std::uint64_t* words, std::size_t words_per_row, Index images, Index neurons,
                                   float* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::size_t word = blockIdx.y; word < words_per_row; word += gridDim.y) {
    const std::uint64_t bits = image < images ? words[image * words_per_row + word] : 0;
    const Index end = static_cast<Index>(min(std::size_t{neurons}, (word + 1) * 64));
    for (Index neuron = static_cast<Index>(word * 64); neuron < end; ++neuron)
      to[place(image, neuron, neurons)] = (bits >> (neuron % 64) & 1U) != 0 ? 1.0F : 0.0F;
  }
}

/// Adds CSR entries to tiles of zeros: one warp per image, whose neurons may repeat.
__global__ void expand_sparse_kernel(const Offset* offsets, const Index* indices, const float* values, float value,
                                     Index images, Index neurons, float* to) {
  const std::size_t image = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (image >= images) return;
  for (Offset k = offsets[image] + threadIdx.x % kWarp; k < offsets[image + 1]; k += kWarp)
    atomicAdd(to + place(image, indices[k], neurons), values != nullptr ? values[k] : value);
}

/// Flags of the inputs: one thread per image and share of the neurons.
__global__ void flag_kernel(const float* y, Index images, Index neurons, float cap, std::uint32_t* flags) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const Inspect inspect{cap};
  std::uint32_t bits = 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y) {
    float value = y[place(image, neuron, neurons)];
    bits |= inspect(value, neuron);
  }
  atomicOr(flags + image, bits);
}

/// hashes(i) += those of a share of image i's neurons: one thread per image and share.
__global__ void hash_kernel(const float* y, Index images, Index neurons, unsigned long long* hashes) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  std::uint64_t mine = 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    mine += hash_share(neuron, y[place(image, neuron, neurons)]);
  atomicAdd(hashes + image, static_cast<unsigned long long>(mine));
}

/// heads(i) = i where image i differs from image heads(i), which several threads may find.
__global__ void compare_kernel(const float* y, Index images, Index neurons, Index* heads) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (image >= images) return;
  const std::size_t head = heads[image];
  if (head == image) return;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    if (y[place(image, neuron, neurons)] != y[place(head, neuron, neurons)]) heads[image] = static_cast<Index>(image);
}

/// Images as rows, one after another: to(i) is image i, `neurons` values. A block of kSquare x 8 threads transposes
/// squares of images and neurons in shared memory.
constexpr unsigned kSquare = kWarp;
__global__ void rows_kernel(const float* from, Index images, Index neurons, float* to) {
  __shared__ float square[kSquare][kSquare + 1];
  const std::size_t first_image = std::size_t{blockIdx.x} * kSquare;
  for (Index first = blockIdx.y * kSquare; first < neurons; first += gridDim.y * kSquare) {
    for (Index i = threadIdx.y; i < kSquare && first + i < neurons; i += blockDim.y)
      square[i][threadIdx.x] = from[place(first_image + threadIdx.x, first + i, neurons)];
    __syncthreads();
    for (Index i = threadIdx.y; i < kSquare && first_image + i < images; i += blockDim.y)
      if (first + threadIdx.x < neurons) to[(first_image + i) * neurons + first + threadIdx.x] = square[threadIdx.x][i];
    __syncthreads();
  }
}

/// to(i) = from(kept[i]), and zeros up to the end of the last tile.
__global__ void gather_kernel(const float* from, const Index* kept, Index count, Index neurons, float* to) {
  const std::size_t image = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t source = image < count ? kept[image] : 0;
  for (Index neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    to[place(image, neuron, neurons)] = image < count ? from[place(source, neuron, neurons)] : 0.0F;
}

}  // namespace spdnn::cuda::spmm
