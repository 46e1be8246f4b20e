#pragma once

// 32 counts at once, in bit planes: bit i of plane b is bit b of count i.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "spdnn/types.hpp"

namespace spdnn::cuda::cascade {

/// Counts of kBits bits as bytes: count 8 k + r is byte k of word r. A transposition of 8 x 8 bits, four at once.
template <Index kBits>
__device__ void counts_of(const std::uint32_t (&planes)[kBits], std::uint32_t (&counts)[8]) {
  static_assert(kBits <= 8);
#pragma unroll
  for (Index b = 0; b < 8; ++b) counts[b] = b < kBits ? planes[b] : 0;
#pragma unroll
  for (Index step = 4; step > 0; step /= 2) {
    const std::uint32_t low = step == 4 ? 0x0f0f0f0fU : step == 2 ? 0x33333333U : 0x55555555U;
#pragma unroll
    for (Index i = 0; i < 8; ++i) {
      if ((i & step) != 0) continue;
      const std::uint32_t a = counts[i];
      const std::uint32_t b = counts[i + step];
      counts[i] = (a & low) | (b << step & ~low);
      counts[i + step] = (a >> step & low) | (b & ~low);
    }
  }
}

/// Stores 32 counts of kBits bits as bytes.
template <Index kBits>
__device__ void store_planes(const std::uint32_t (&planes)[kBits], std::uint8_t* to) {
  std::uint32_t counts[8];
  counts_of(planes, counts);
#pragma unroll
  for (Index q = 0; q < 8; ++q) {
    const std::uint32_t* four = counts + q % 2 * 4;
    const std::uint32_t bytes = q / 2 * 0x11U + 0x40U;  // the same of two words
    reinterpret_cast<std::uint32_t*>(to)[q] =
        __byte_perm(__byte_perm(four[0], four[1], bytes), __byte_perm(four[2], four[3], bytes), 0x5410);
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

/// Counts in bit planes how many of the words have each bit.
template <Index kWords>
__device__ void count_words(const std::uint32_t (&words)[kWords], std::uint32_t (&planes)[5]) {
  static_assert(kWords % 4 == 0 && kWords < 32);
#pragma unroll
  for (Index b = 0; b < 5; ++b) planes[b] = 0;
#pragma unroll
  for (Index k = 0; k < kWords; k += 4) add_words({words[k], words[k + 1], words[k + 2], words[k + 3]}, planes);
}

/// Adds to each of 32 counts the one that is `shift` ahead, in the next word's planes at the end.
__device__ inline void add_ahead(const std::uint32_t (&own)[5], const std::uint32_t (&next)[5], Index shift,
                                 std::uint32_t (&sums)[6]) {
  std::uint32_t carry = 0;
#pragma unroll
  for (Index b = 0; b < 5; ++b) {
    const std::uint32_t other = __funnelshift_r(own[b], next[b], shift);
    sums[b] = own[b] ^ other ^ carry;
    carry = majority(own[b], other, carry);
  }
  sums[5] = carry;
}

/// One bit per count: it is at least `threshold`, which is not 0.
__device__ inline std::uint32_t at_least(const std::uint32_t (&counts)[6], Index threshold) {
  std::uint32_t more = 0;
  std::uint32_t equal = 0xffffffffU;
#pragma unroll
  for (Index b = 6; b-- > 0;) {
    const std::uint32_t bits = ((threshold - 1) >> b & 1U) != 0 ? 0xffffffffU : 0;
    more |= equal & counts[b] & ~bits;
    equal &= ~(counts[b] ^ bits);
  }
  return more;
}

}  // namespace spdnn::cuda::cascade
