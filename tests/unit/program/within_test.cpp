#include "program/within.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace spdnn::program {
namespace {

/// Whether numbers are within 2, of which one is this, at any place.
bool all_within_two(float number, ElementType type, std::size_t place) {
  constexpr std::size_t kCount = 21;
  std::vector<float> numbers(kCount, -2);
  numbers[place] = number;
  std::vector<std::uint16_t> halves;
  for (const float one : numbers)
    halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(one) >> 16U));
  const bool is_half = type == ElementType::bf16;
  // Behind them lie numbers beyond the limit.
  numbers.resize(kCount + 8, 9);
  halves.resize(kCount + 8, 0x4110);
  return within(
      is_half ? reinterpret_cast<const std::byte*>(halves.data()) : reinterpret_cast<const std::byte*>(numbers.data()),
      kCount * (is_half ? 2 : 4), type, 2);
}

TEST(Within, NumbersOfBothTypesUpToTheLimitAndNothingElse) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const ElementType type : {ElementType::fp32, ElementType::bf16})
    for (const std::size_t place : {0U, 1U, 15U, 16U, 20U}) {
      for (const float number : {0.F, 2.F, -2.F, 0x1p-130F})
        EXPECT_TRUE(all_within_two(number, type, place)) << number << " " << place;
      for (const float number : {2.015625F, -2.015625F, kInfinity, -kInfinity, NAN, -NAN})
        EXPECT_FALSE(all_within_two(number, type, place)) << number << " " << place;
    }
}

}  // namespace
}  // namespace spdnn::program
