#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

// Floating-point numbers of 16 bits, as bits.
namespace spdnn {

/// IEEE binary16.
inline float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinite, or not a number
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13U);
  // Exponents are biased by 15 in binary16 and by 127 in binary32; the product is exact for subnormal numbers too.
  const float value = std::bit_cast<float>(magnitude << 13U) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

/// The upper half of a binary32.
inline float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

/// Empty if the finite number is not exact in binary16.
inline std::optional<std::uint16_t> f16_of_float(float value) {
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(value) >> 16U & 0x8000U;
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(std::abs(value) * 0x1p-112F) >> 13U;
  const auto bits = static_cast<std::uint16_t>(sign | magnitude);
  if (magnitude >= 0x7c00U || float_of_f16(bits) != value) return std::nullopt;
  return bits;
}

/// The nearest number of binary16, of two equally near the even one; infinite beyond the largest.
inline std::uint16_t nearest_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude < 0x38800000U)  // subnormal: neighbours of 1/2 are as far apart
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(std::abs(value) + 0.5F) - 0x3f000000U));
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  magnitude += 0xfffU + (magnitude >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | (magnitude >= 0x47800000U ? 0x7c00U : (magnitude - 0x38000000U) >> 13U));
}

/// Empty if the lower half of the number is not zero.
inline std::optional<std::uint16_t> bf16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0xffffU) != 0) return std::nullopt;
  return static_cast<std::uint16_t>(bits >> 16U);
}

}  // namespace spdnn
