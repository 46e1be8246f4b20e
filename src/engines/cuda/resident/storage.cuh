#pragma once

// The `resident` engine's activations in shared memory: float or, with fp16 storage, rounded to half precision. Sums,
// biases and the cap are fp32 in both.

#include <cstdint>
#include <type_traits>

#include "engines/cuda/layers/stored.cuh"

namespace spdnn::cuda::resident {

/// The unit of a load or store of kCount activations, at most 16 bytes.
template <class Stored, unsigned kCount>
using WideOf =
    std::conditional_t<std::is_same_v<Stored, float>,
                       std::conditional_t<kCount == 4, float4, std::conditional_t<kCount == 2, float2, float>>,
                       std::conditional_t<kCount == 8, uint4, std::conditional_t<kCount == 4, uint2, std::uint32_t>>>;

/// The largest fp32 number that is stored as 0. Halves: half of the smallest one; a tie goes to the even neighbour, 0.
template <class Stored>
inline constexpr float kStoredAsZero = std::is_same_v<Stored, float> ? 0.0F : 0x1p-25F;

__device__ inline void unpack(float4 wide, float* y) {
  y[0] = wide.x;
  y[1] = wide.y;
  y[2] = wide.z;
  y[3] = wide.w;
}
__device__ inline void unpack(float2 wide, float* y) {
  y[0] = wide.x;
  y[1] = wide.y;
}
__device__ inline void unpack(float wide, float* y) { y[0] = wide; }
__device__ inline void unpack(std::uint32_t pair, float* y) {
  unpack(__half22float2(*reinterpret_cast<const __half2*>(&pair)), y);
}
__device__ inline void unpack(uint2 wide, float* y) {
  unpack(wide.x, y);
  unpack(wide.y, y + 2);
}
__device__ inline void unpack(uint4 wide, float* y) {
  unpack(wide.x, y);
  unpack(wide.y, y + 2);
  unpack(wide.z, y + 4);
  unpack(wide.w, y + 6);
}

__device__ inline std::uint32_t pack_halves(const float* y) {
  const __half2 pair = __floats2half2_rn(y[0], y[1]);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// Rounds to nearest where Wide holds halves.
template <class Wide>
__device__ Wide pack(const float* y) {
  if constexpr (std::is_same_v<Wide, float4>)
    return make_float4(y[0], y[1], y[2], y[3]);
  else if constexpr (std::is_same_v<Wide, float2>)
    return make_float2(y[0], y[1]);
  else if constexpr (std::is_same_v<Wide, float>)
    return *y;
  else if constexpr (std::is_same_v<Wide, uint4>)
    return make_uint4(pack_halves(y), pack_halves(y + 2), pack_halves(y + 4), pack_halves(y + 6));
  else if constexpr (std::is_same_v<Wide, uint2>)
    return make_uint2(pack_halves(y), pack_halves(y + 2));
  else
    return pack_halves(y);
}

}  // namespace spdnn::cuda::resident
