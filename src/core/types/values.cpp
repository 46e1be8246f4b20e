#include "spdnn/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/types/narrow_floats.hpp"
#include "core/types/row_values.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kTypes = 5;
constexpr unsigned kByteBits = 8;

[[noreturn]] void bad_values(const std::string& problem) { throw std::invalid_argument(problem); }

template <class T>
T number_at(const Array<std::byte>& bytes, std::size_t k) {
  T number;
  std::memcpy(&number, bytes.data() + k * sizeof(T), sizeof(T));
  return number;
}

/// An integer of i8 or u8.
std::int32_t whole_at(DataType type, const Array<std::byte>& bytes, std::size_t k) {
  return type == DataType::i8 ? std::int32_t{number_at<std::int8_t>(bytes, k)}
                              : std::int32_t{number_at<std::uint8_t>(bytes, k)};
}

float float_at(DataType type, const Array<std::byte>& bytes, std::size_t k) {
  if (type == DataType::f16) return float_of_f16(number_at<std::uint16_t>(bytes, k));
  if (type == DataType::bf16) return float_of_bf16(number_at<std::uint16_t>(bytes, k));
  return number_at<float>(bytes, k);
}

/// The product of two numbers of 24 bits is exact in fp64, so that the cast alone rounds.
float scaled(float scale, float number) { return static_cast<float>(static_cast<double>(scale) * number); }

void require_list(std::size_t size, Index rows, const char* what) {
  if (size == 0) return;
  if (size != 1 && size != rows)
    bad_values(fmt::format("{} {}, expected 1 or one for each of {} rows", size, what, rows));
}

}  // namespace

std::string_view name_of(DataType type) {
  static constexpr std::array<std::string_view, kTypes> kNames{"f32", "f16", "bf16", "i8", "u8"};
  return kNames.at(static_cast<std::size_t>(type));
}

std::size_t bytes_of(DataType type) {
  static constexpr std::array<std::size_t, kTypes> kBytes{4, 2, 2, 1, 1};
  return kBytes.at(static_cast<std::size_t>(type));
}

bool is_whole(DataType type) { return type == DataType::i8 || type == DataType::u8; }

std::size_t Values::code(std::size_t k) const {
  if (code_bits == 0) return k;
  if (code_bits == 16) return number_at<std::uint16_t>(codes, k);
  const std::size_t bit = k * static_cast<std::size_t>(code_bits);
  const auto byte = static_cast<unsigned>(codes[bit / kByteBits]);
  return byte >> bit % kByteBits & ((1U << code_bits) - 1);
}

float Values::value(Index row, std::size_t k) const {
  const std::size_t at = code(k);
  const float scale = scale_of(*this, row);
  if (!is_whole(type)) return scaled(scale, float_at(type, bytes, at));
  return scaled(scale, static_cast<float>(whole_at(type, bytes, at) - zero_point_of(*this, row)));
}

std::size_t Values::size_bytes() const {
  return bytes.bytes() + codes.bytes() + scales.size() * sizeof(float) + zero_points.size() * sizeof(std::int32_t);
}

void Values::validate(Index rows) const {
  if (static_cast<std::size_t>(type) >= kTypes) bad_values("an unknown type of values");
  const std::size_t numbers = bytes.size() / bytes_of(type);
  if (bytes.size() % bytes_of(type) != 0)
    bad_values(fmt::format("{} bytes are not a whole number of {}", bytes.size(), name_of(type)));
  if (code_bits == 0) {
    if (!codes.empty()) bad_values("codes without a palette");
    if (numbers != count) bad_values(fmt::format("{} values, expected {}", numbers, count));
  } else {
    static constexpr std::array<int, 5> kCodeBits{1, 2, 4, 8, 16};
    if (std::find(kCodeBits.begin(), kCodeBits.end(), code_bits) == kCodeBits.end())
      bad_values(fmt::format("codes of {} bits, expected 1, 2, 4, 8 or 16", code_bits));
    if (numbers > std::size_t{1} << code_bits)
      bad_values(fmt::format("a palette of {} values, expected at most {}", numbers, std::size_t{1} << code_bits));
    const auto bits = static_cast<std::size_t>(code_bits);
    if (count > std::numeric_limits<std::size_t>::max() / bits || codes.size() != (count * bits + 7) / kByteBits)
      bad_values(fmt::format("{} bytes of codes, expected {} codes of {} bits", codes.size(), count, code_bits));
    for (std::size_t k = 0; k < count; ++k)
      if (code(k) >= numbers)
        bad_values(fmt::format("value {} has code {}, outside a palette of {}", k + 1, code(k), numbers));
    const std::size_t used = count * bits % kByteBits;
    if (used != 0 && static_cast<unsigned>(codes.back()) >> used != 0)
      bad_values("bits after the last code are not zero");
  }
  require_list(scales.size(), rows, "scales");
  require_list(zero_points.size(), rows, "zero points");
  if (!zero_points.empty() && !is_whole(type))
    bad_values(fmt::format("zero points of {}, which has none", name_of(type)));
  for (const float scale : scales)
    if (!(std::isfinite(scale) && scale > 0)) bad_values(fmt::format("scale {}, expected a positive number", scale));
  const std::int32_t least = type == DataType::i8 ? -128 : 0;
  for (const std::int32_t zero : zero_points)
    if (zero < least || zero > least + 255)
      bad_values(fmt::format("zero point {}, expected {} to {}", zero, least, least + 255));
  const float largest_scale = scales.empty() ? 1.0F : *std::max_element(scales.begin(), scales.end());
  // Whole numbers differ by at most 255 from a zero point.
  float largest = zero_points.empty() ? 0.0F : 255.0F;
  for (std::size_t k = 0; k < numbers && zero_points.empty(); ++k) {
    const float number = is_whole(type) ? static_cast<float>(whole_at(type, bytes, k)) : float_at(type, bytes, k);
    if (!std::isfinite(number)) bad_values(fmt::format("number {} is not finite", k + 1));
    largest = std::max(largest, std::abs(number));
  }
  if (!std::isfinite(scaled(largest_scale, largest)))
    bad_values(fmt::format("scale {} is too large for fp32", largest_scale));
}

}  // namespace spdnn
