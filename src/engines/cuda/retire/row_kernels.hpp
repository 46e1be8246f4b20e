#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engines/cuda/layers/layer.hpp"

/// Kernels shared by all variants: the operations after the product, on dense activations. They only launch; nothing
/// here allocates or waits.
namespace spdnn::cuda {

/// Properties of an image's activations, OR-ed over its neurons.
inline constexpr std::uint32_t kLives = 1;    ///< some activation is not zero in the given order of summation
inline constexpr std::uint32_t kMayLive = 2;  ///< some activation may be above zero in the given order of summation
inline constexpr std::uint32_t kMayMiss = 4;  ///< some activation may be below the cap in the given order of summation
inline constexpr std::uint32_t kOverflowed = 8;  ///< some sum is infinite or NaN, where that is watched

/// Flags of activation y, made of z + bias = `sum`. `bound` is the plan's error bound of the layer, 0 without `merge`:
/// then activations are exactly those of the given order.
SPDNN_HOST_DEVICE inline std::uint32_t flags_of(float y, float sum, float cap, float bound) {
  if (bound == 0.0F) return (y != 0.0F ? kLives : 0) | (y != 0.0F ? kMayLive : 0) | (y < cap ? kMayMiss : 0);
  const std::uint32_t lives = sum > bound ? kLives : 0;
  return lives | (sum > -bound ? kMayLive : 0) | (sum < cap + bound ? kMayMiss : 0);
}

/// y = activation(z) for a layer's products of `images` images, and each image's flags. In place where y == z.
/// Reads and writes each activation once. Flags describe activations before rounding to Stored. Instantiated, like the
/// functions below, for Stored = float and __half.
template <class Stored>
void activate(Layout layout, const Stored* z, Stored* y, Index images, const DeviceLayer& layer, Activation activation,
              float error_bound, std::uint32_t* flags, cudaStream_t stream);

/// Flags of rows as they are (inputs, before any layer).
template <class Stored>
void flag_rows(Layout layout, const Stored* y, Index images, Index neurons, float cap, std::uint32_t* flags,
               cudaStream_t stream);

/// to(i) = from(kept[i]) for i in [0, count): moves whole images, `from` holding `images` of them.
template <class Stored>
void gather_images(Layout layout, const Stored* from, Index images, const Index* kept, Index count, Index neurons,
                   Stored* to, cudaStream_t stream);

/// hashes(i) of image i; see hash_share().
template <class Stored>
void hash_images(Layout layout, const Stored* y, Index images, Index neurons, std::uint64_t* hashes,
                 cudaStream_t stream);
/// heads(i) = i where image i differs from image heads(i).
template <class Stored>
void compare_images(Layout layout, const Stored* y, Index images, Index neurons, Index* heads, cudaStream_t stream);

}  // namespace spdnn::cuda
