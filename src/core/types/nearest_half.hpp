#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace spdnn {

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

}  // namespace spdnn
