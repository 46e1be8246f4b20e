#pragma once

// 32 counts at once, in bit planes: bit i of plane b is bit b of count i.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "spdnn/types.hpp"

namespace spdnn::cuda::cascade {

/// Stores 32 counts of kBits bits as bytes: one multiplication spreads four bits of a plane over four bytes.
template <Index kBits>
__device__ void store_planes(const std::uint32_t (&planes)[kBits], std::uint8_t* to) {
#pragma unroll
  for (Index q = 0; q < 8; ++q) {
    std::uint32_t four = 0;
#pragma unroll
    for (Index b = 0; b < kBits; ++b) four |= (planes[b] >> (4 * q) & 15U) * (0x00204081U << b) & (0x01010101U << b);
    reinterpret_cast<std::uint32_t*>(to)[q] = four;
  }
}

__device__ inline std::uint32_t majority(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) | (c & (a | b));
}

/// Adds four words to the bit planes of 32 counts: carry-save addition.
__device__ inline void add_words(const std::uint32_t (&words)[4], std::uint32_t (&planes)[5]) {
  const std::uint32_t first = majority(planes[0], words[0], words[1]);
  planes[0] ^= words[0] ^ words[1];
  const std::uint32_t second = majority(planes[0], words[2], words[3]);
  planes[0] ^= words[2] ^ words[3];
  std::uint32_t carry = majority(planes[1], first, second);
  planes[1] ^= first ^ second;
#pragma unroll
  for (Index b = 2; b < 5; ++b) {
    const std::uint32_t plane = planes[b];
    planes[b] = plane ^ carry;
    carry &= plane;
  }
}

}  // namespace spdnn::cuda::cascade
