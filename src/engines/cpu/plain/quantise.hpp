#pragma once

#include <bit>
#include <cstdint>

#include "model/graph/quantised.hpp"

namespace spdnn::plain {

/// x / scale to the nearest integer, to even among equals, and the zero point, within the limits of the type:
/// clip(round(x / scale) + zero). The quotient is limited first, which is the same, as limits and zero point are
/// integers; then 1.5 x 2^23 is added, beside which fp32 has no fractions.
inline std::int32_t byte_of(const ByteForm& form, float x) {
  const auto low = static_cast<float>(form.low() - form.zero);
  const auto high = static_cast<float>(form.high() - form.zero);
  const float quotient = x / form.scale;
  const float limited = quotient < low ? low : quotient < high ? quotient : high;
  return std::bit_cast<std::int32_t>(limited + 0x1.8p23F) - 0x4b400000 + form.zero;
}

inline float value_of(const ByteForm& form, std::int32_t byte) {
  return static_cast<float>(byte - form.zero) * form.scale;
}

}  // namespace spdnn::plain
