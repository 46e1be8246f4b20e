#pragma once

// CUDA kernels on the CPU, for tests without a device: the part of CUDA's language and functions that these kernels'
// sources use. A block's threads are fibers that take turns at barriers and where a warp's
// threads exchange values; blocks run one after another, in ascending order. So a kernel may wait for blocks before its
// own, not for later ones. What depends on time or on the memory model (races, missing fences) does not show here.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "emulation.hpp"

#define __device__
#define __host__
#define __global__ inline  // kernels are in several files of tests
#define __launch_bounds__(...)
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __shared__ static
#define threadIdx (::emulation::thread_index())
#define blockIdx (::emulation::block_index())
#define gridDim (::emulation::grid())
#define blockDim (::emulation::block())

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

using std::fmaf;
using std::fmaxf;
using std::fminf;
using std::isnan;
using std::max;
using std::min;

using cudaStream_t = struct CUstream_st*;  ///< named in declarations only

inline void __syncthreads() { emulation::barrier(0); }
inline int __syncthreads_or(int value) { return emulation::barrier(value); }
inline void __threadfence() {}
inline void __syncwarp() { emulation::exchange(0U); }

template <class T>
T __shfl_sync(unsigned, T value, unsigned lane) {
  return emulation::exchange(value)[lane % 32];
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  return emulation::exchange(value)[(threadIdx.x % 32) ^ mask];
}
inline unsigned __ballot_sync(unsigned, bool value) {
  unsigned bits = 0;
  const auto all = emulation::exchange(value);
  for (unsigned lane = 0; lane < 32; ++lane) bits |= all[lane] ? 1U << lane : 0U;
  return bits;
}
inline unsigned __reduce_or_sync(unsigned, unsigned value) {
  unsigned bits = 0;
  for (const unsigned other : emulation::exchange(value)) bits |= other;
  return bits;
}

inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  unsigned sum = 0;
  for (const unsigned other : emulation::exchange(value)) sum += other;
  return sum;
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcg(T* to, T value) {
  *to = value;
}

template <class T>
T atomicExch(T* to, T value) {
  return std::exchange(*to, value);
}
template <class T>
T atomicAdd(T* to, T value) {
  return atomicExch(to, static_cast<T>(*to + value));
}
template <class T>
T atomicOr(T* to, T value) {
  return atomicExch(to, *to | value);
}
template <class T>
T atomicMax(T* to, T value) {
  return atomicExch(to, std::max(*to, value));
}

inline int __popc(unsigned value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
inline int __ffs(int value) { return __builtin_ffs(value); }
/// The highest and the lowest of three, of each 16 bits alone.
inline unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c) {
  return max({a & 0xffffU, b & 0xffffU, c & 0xffffU}) | max({a >> 16U, b >> 16U, c >> 16U}) << 16U;
}
inline unsigned __vimin3_u16x2(unsigned a, unsigned b, unsigned c) {
  return min({a & 0xffffU, b & 0xffffU, c & 0xffffU}) | min({a >> 16U, b >> 16U, c >> 16U}) << 16U;
}
/// max(a + b, c) and max(0, min(a + b, c)), of each 16 bits alone, with a sign.
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
  const auto half = [&](unsigned shift) {
    const auto part = [&](unsigned x) { return static_cast<std::int16_t>(x >> shift); };
    return static_cast<unsigned>(std::max<std::int16_t>(static_cast<std::int16_t>(part(a) + part(b)), part(c))) &
           0xffffU;
  };
  return half(0) | half(16) << 16U;
}
inline unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  const auto half = [&](unsigned shift) {
    const auto part = [&](unsigned x) { return static_cast<std::int16_t>(x >> shift); };
    const auto sum = static_cast<std::int16_t>(part(a) + part(b));
    return static_cast<unsigned>(std::max<std::int16_t>(std::min(sum, part(c)), 0));
  };
  return half(0) | half(16) << 16U;
}
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return shift % 32 == 0 ? high : high << shift % 32 | low >> (32 - shift % 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return shift % 32 == 0 ? low : low >> shift % 32 | high << (32 - shift % 32);
}
/// The sum of the products of the bytes, and `sum`.
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (unsigned shift = 0; shift < 32; shift += 8) sum += (a >> shift & 255U) * (b >> shift & 255U);
  return sum;
}
/// Byte i of the result is the byte of high:low that bits 4 i .. 4 i + 2 of `selector` name.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{high} << 32U | low;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7U)) & 255U) << (8 * i);
  return result;
}
