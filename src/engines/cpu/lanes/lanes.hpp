#pragma once

// A register of numbers in the instruction set of the including file. Everything is in an unnamed namespace, so that
// these files share no function; nor may they use inline functions of the standard library, because the linker might
// then use their copies in the whole program.

#include <cstdint>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace spdnn::lanes {
namespace {

#if defined(__AVX512F__)
using Lanes = __m512;
constexpr std::int32_t kMostVectors = 28;  // of 32 registers
inline Lanes all(float x) { return _mm512_set1_ps(x); }
inline Lanes load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Lanes x) { _mm512_storeu_ps(to, x); }
inline Lanes dealt_even(Lanes a, Lanes b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(a, even, b);
}
inline Lanes in_order(Lanes x) { return x; }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
inline Lanes add(Lanes a, Lanes b) { return _mm512_add_ps(a, b); }
inline Lanes multiply(Lanes a, Lanes b) { return _mm512_mul_ps(a, b); }
inline Lanes leaky_relu(Lanes x, Lanes slope) {
  return _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask(x, all(0.F), _CMP_LT_OQ), x, slope);
}
/// With masks, since GCC 12 warns of those without.
inline Lanes within(Lanes x, Lanes low, Lanes high) {
  return _mm512_maskz_min_ps(0xffff, high, _mm512_maskz_max_ps(0xffff, low, x));
}
inline __m512d interleaved_low(Lanes a, Lanes b) { return _mm512_castps_pd(_mm512_maskz_unpacklo_ps(0xffff, a, b)); }
inline __m512d interleaved_high(Lanes a, Lanes b) { return _mm512_castps_pd(_mm512_maskz_unpackhi_ps(0xffff, a, b)); }
inline Lanes pairs_low(__m512d a, __m512d b) { return _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, a, b)); }
inline Lanes pairs_high(__m512d a, __m512d b) { return _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, a, b)); }
inline Lanes even_quads(Lanes a, Lanes b) { return _mm512_maskz_shuffle_f32x4(0xffff, a, b, 0x88); }
inline Lanes odd_quads(Lanes a, Lanes b) { return _mm512_maskz_shuffle_f32x4(0xffff, a, b, 0xdd); }
/// Makes columns of a square's rows.
inline void transpose(Lanes (&square)[16]) {
  Lanes quads[16];  // four quarters of columns each, of four rows
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512d low = interleaved_low(square[i], square[i + 1]);
    const __m512d high = interleaved_high(square[i], square[i + 1]);
    const __m512d next_low = interleaved_low(square[i + 2], square[i + 3]);
    const __m512d next_high = interleaved_high(square[i + 2], square[i + 3]);
    quads[i] = pairs_low(low, next_low);
    quads[i + 1] = pairs_high(low, next_low);
    quads[i + 2] = pairs_low(high, next_high);
    quads[i + 3] = pairs_high(high, next_high);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Lanes even = even_quads(quads[i], quads[i + 4]);
    const Lanes odd = odd_quads(quads[i], quads[i + 4]);
    const Lanes next_even = even_quads(quads[i + 8], quads[i + 12]);
    const Lanes next_odd = odd_quads(quads[i + 8], quads[i + 12]);
    square[i] = even_quads(even, next_even);
    square[i + 4] = even_quads(odd, next_odd);
    square[i + 8] = odd_quads(even, next_even);
    square[i + 12] = odd_quads(odd, next_odd);
  }
}
/// Lanes from `begin` to below `end`, if any; the others are not touched.
struct Some {
  Some(std::int64_t begin, std::int64_t end) : mask(static_cast<__mmask16>(below(end) & ~below(begin))) {}
  static unsigned below(std::int64_t lane) {
    return (1U << static_cast<unsigned>(lane < 0 ? 0 : lane < 16 ? lane : 16)) - 1;
  }
  Lanes load(const float* from) const { return _mm512_maskz_loadu_ps(mask, from); }
  void store(float* to, Lanes x) const { _mm512_mask_storeu_ps(to, mask, x); }
  __mmask16 mask;
};
/// Stores the first `count` lanes, at least one.
inline void store_first(float* to, Lanes x, std::int64_t count) { Some(0, count).store(to, x); }
inline Lanes load_first(const float* from, std::int64_t count) { return Some(0, count).load(from); }

#elif defined(__AVX2__)
using Lanes = __m256;
constexpr std::int32_t kMostVectors = 14;  // of 16 registers
inline Lanes all(float x) { return _mm256_set1_ps(x); }
inline Lanes load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Lanes x) { _mm256_storeu_ps(to, x); }
inline Lanes dealt_even(Lanes a, Lanes b) { return _mm256_shuffle_ps(a, b, 0x88); }
inline Lanes dealt_odd(Lanes a, Lanes b) { return _mm256_shuffle_ps(a, b, 0xdd); }
inline Lanes in_order(Lanes x) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8)); }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
inline Lanes add(Lanes a, Lanes b) { return _mm256_add_ps(a, b); }
inline Lanes multiply(Lanes a, Lanes b) { return _mm256_mul_ps(a, b); }
inline Lanes leaky_relu(Lanes x, Lanes slope) {
  return _mm256_blendv_ps(x, multiply(x, slope), _mm256_cmp_ps(x, all(0.F), _CMP_LT_OQ));
}
inline Lanes within(Lanes x, Lanes low, Lanes high) { return _mm256_min_ps(high, _mm256_max_ps(low, x)); }
/// Makes columns of a square's rows.
inline void transpose(Lanes (&square)[8]) {
  Lanes quads[8];  // two halves of columns, of four rows each
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 4) {
    const Lanes low = _mm256_unpacklo_ps(square[i], square[i + 1]);
    const Lanes high = _mm256_unpackhi_ps(square[i], square[i + 1]);
    const Lanes next_low = _mm256_unpacklo_ps(square[i + 2], square[i + 3]);
    const Lanes next_high = _mm256_unpackhi_ps(square[i + 2], square[i + 3]);
    quads[i] = _mm256_shuffle_ps(low, next_low, 0x44);
    quads[i + 1] = _mm256_shuffle_ps(low, next_low, 0xee);
    quads[i + 2] = _mm256_shuffle_ps(high, next_high, 0x44);
    quads[i + 3] = _mm256_shuffle_ps(high, next_high, 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    square[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
    square[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
  }
}
/// Lanes from `begin` to below `end`, if any; the others are not touched.
struct Some {
  Some(std::int64_t begin, std::int64_t end) : mask(_mm256_andnot_si256(below(begin), below(end))) {}
  static __m256i below(std::int64_t lane) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lane)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  Lanes load(const float* from) const { return _mm256_maskload_ps(from, mask); }
  void store(float* to, Lanes x) const { _mm256_maskstore_ps(to, mask, x); }
  __m256i mask;
};
/// Stores the first `count` lanes, at least one: by halves, as a masked store takes many times as long on a Zen 3.
inline void store_first(float* to, Lanes x, std::int64_t count) {
  if (count >= 8) return store(to, x);
  __m128 left = _mm256_castps256_ps128(x);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, left);
    left = _mm256_extractf128_ps(x, 1);
    to += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), left);
    left = _mm_movehl_ps(left, left);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(to, left);
}
inline Lanes load_first(const float* from, std::int64_t count) {
  return count >= 8 ? load(from) : Some(0, count).load(from);
}

#else
typedef float Lanes __attribute__((vector_size(16), may_alias, aligned(4)));  // NOLINT(modernize-use-using)
constexpr std::int32_t kMostVectors = 12;                                     // of 16 registers; products take some
inline Lanes all(float x) { return Lanes{x, x, x, x}; }
inline Lanes load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
inline void store(float* to, Lanes x) { *reinterpret_cast<Lanes*>(to) = x; }
inline Lanes dealt_even(Lanes a, Lanes b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
inline Lanes dealt_odd(Lanes a, Lanes b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
inline Lanes in_order(Lanes x) { return x; }
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) { return a * b + c; }
inline Lanes add(Lanes a, Lanes b) { return a + b; }
inline Lanes multiply(Lanes a, Lanes b) { return a * b; }
inline Lanes leaky_relu(Lanes x, Lanes slope) { return x < all(0.F) ? x * slope : x; }
inline Lanes within(Lanes x, Lanes low, Lanes high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
/// Makes columns of a square's rows.
inline void transpose(Lanes (&square)[4]) {
  const Lanes low = __builtin_shufflevector(square[0], square[1], 0, 4, 1, 5);
  const Lanes high = __builtin_shufflevector(square[0], square[1], 2, 6, 3, 7);
  const Lanes next_low = __builtin_shufflevector(square[2], square[3], 0, 4, 1, 5);
  const Lanes next_high = __builtin_shufflevector(square[2], square[3], 2, 6, 3, 7);
  square[0] = __builtin_shufflevector(low, next_low, 0, 1, 4, 5);
  square[1] = __builtin_shufflevector(low, next_low, 2, 3, 6, 7);
  square[2] = __builtin_shufflevector(high, next_high, 0, 1, 4, 5);
  square[3] = __builtin_shufflevector(high, next_high, 2, 3, 6, 7);
}
/// Lanes from `begin` to below `end`, if any; the others are not touched.
struct Some {
  Some(std::int64_t from, std::int64_t to) : begin(from < 0 ? 0 : from), end(to < 4 ? to : 4) {}
  Lanes load(const float* from) const {
    Lanes x{};
    for (std::int64_t i = begin; i < end; ++i) x[i] = from[i];
    return x;
  }
  void store(float* to, Lanes x) const {
    for (std::int64_t i = begin; i < end; ++i) to[i] = x[i];
  }
  std::int64_t begin;
  std::int64_t end;
};
/// Stores the first `count` lanes, at least one.
inline void store_first(float* to, Lanes x, std::int64_t count) { Some(0, count).store(to, x); }
inline Lanes load_first(const float* from, std::int64_t count) { return Some(0, count).load(from); }
#endif

constexpr std::int32_t kLanes = sizeof(Lanes) / sizeof(float);

/// The first of kCount things that are computed together, `first` and those after it: the last overlap those before.
template <std::int64_t kCount = kLanes>
inline std::int64_t begin_of(std::int64_t first, std::int64_t all) {
  return first + kCount <= all || all < kCount ? first : all - kCount;
}

/// Every other number of two registers, from the first on; dealt_even() and dealt_odd(), from the second on, have them
/// in an order that in_order() mends.
inline Lanes even_of(Lanes a, Lanes b) { return in_order(dealt_even(a, b)); }

/// What was loaded, kept in a register for all of its uses: GCC 12 would rather load it again for each.
inline Lanes in_register(Lanes x) {
#if defined(__x86_64__)
  asm("" : "+v"(x));
#endif
  return x;
}

}  // namespace
}  // namespace spdnn::lanes
