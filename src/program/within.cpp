#include "program/within.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace spdnn::program {

bool within(const std::byte* numbers, std::size_t bytes, ElementType type, float limit) {
  std::uint32_t beyond = 0;  // as wide as the numbers, so that lanes need no conversion
  if (type == ElementType::bf16) {
    const auto count = static_cast<Extent>(bytes / sizeof(std::uint16_t));
    const auto* const upper = reinterpret_cast<const std::uint16_t*>(numbers);  // halves of fp32
#pragma omp parallel for simd schedule(static) reduction(| : beyond)
    for (Extent i = 0; i < count; ++i)
      beyond |= std::abs(std::bit_cast<float>(std::uint32_t{upper[i]} << 16U)) <= limit ? 0U : 1U;
  } else {
    const auto count = static_cast<Extent>(bytes / sizeof(float));
    const auto* const values = reinterpret_cast<const float*>(numbers);
#pragma omp parallel for simd schedule(static) reduction(| : beyond)
    for (Extent i = 0; i < count; ++i) beyond |= std::abs(values[i]) <= limit ? 0U : 1U;
  }
  return beyond == 0;
}

}  // namespace spdnn::program
