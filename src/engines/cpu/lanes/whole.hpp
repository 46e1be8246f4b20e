#pragma once

// A register of 32-bit integers in the instruction set of the including file, for which lanes.hpp holds too. Its
// products are exact: a lane adds up products of kTogether small numbers, which it has side by side, in 32 bits, none
// of them saturated on its way (as vpmaddubsw would be).

#include "engines/cpu/lanes/lanes.hpp"

namespace spdnn::lanes {
namespace {

#if defined(__AVX512F__)
using Wholes = __m512i;
inline Wholes all(std::int32_t x) { return _mm512_set1_epi32(x); }
inline Wholes load_wholes(const float* from) { return _mm512_loadu_si512(from); }
inline void store(float* to, Wholes x) { _mm512_storeu_si512(to, x); }
inline Wholes add(Wholes a, Wholes b) { return _mm512_add_epi32(a, b); }
#if defined(__AVX512VNNI__)
constexpr std::int32_t kTogether = 4;
inline Wholes add_products(Wholes numbers, Wholes weights, Wholes sums) {
  return _mm512_dpbusd_epi32(sums, numbers, weights);
}
#else
constexpr std::int32_t kTogether = 2;
inline Wholes add_products(Wholes numbers, Wholes weights, Wholes sums) {
  return add(sums, _mm512_madd_epi16(numbers, weights));
}
#endif
inline Lanes line(Wholes x, float slope, float offset) {
  return multiply_add(_mm512_maskz_cvtepi32_ps(0xffff, x), all(slope), all(offset));
}

#elif defined(__AVX2__)
using Wholes = __m256i;
constexpr std::int32_t kTogether = 2;
inline Wholes all(std::int32_t x) { return _mm256_set1_epi32(x); }
inline Wholes load_wholes(const float* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from)); }
inline void store(float* to, Wholes x) { _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to), x); }
inline Wholes add(Wholes a, Wholes b) { return _mm256_add_epi32(a, b); }
inline Wholes add_products(Wholes numbers, Wholes weights, Wholes sums) {
  return add(sums, _mm256_madd_epi16(numbers, weights));
}
inline Lanes line(Wholes x, float slope, float offset) {
  return multiply_add(_mm256_cvtepi32_ps(x), all(slope), all(offset));
}

#else
typedef std::int32_t Wholes __attribute__((vector_size(16), may_alias, aligned(4)));  // NOLINT(modernize-use-using)
constexpr std::int32_t kTogether = 2;
inline Wholes all(std::int32_t x) { return Wholes{x, x, x, x}; }
inline Wholes load_wholes(const float* from) { return *reinterpret_cast<const Wholes*>(from); }
inline void store(float* to, Wholes x) { *reinterpret_cast<Wholes*>(to) = x; }
inline Wholes add(Wholes a, Wholes b) { return a + b; }
inline Wholes add_products(Wholes numbers, Wholes weights, Wholes sums) {
  const auto low = [](Wholes x) { return (x << 16) >> 16; };
  return sums + low(numbers) * low(weights) + (numbers >> 16) * (weights >> 16);
}
/// Rounded once, like a fused multiply-add.
inline Lanes line(Wholes x, float slope, float offset) {
  Lanes y{};
  for (std::int32_t i = 0; i < 4; ++i)
    y[i] = static_cast<float>(static_cast<double>(x[i]) * static_cast<double>(slope) + static_cast<double>(offset));
  return y;
}
#endif

}  // namespace
}  // namespace spdnn::lanes
