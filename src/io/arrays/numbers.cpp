#include "io/arrays/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/types/narrow_floats.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read in place: little-endian");

struct Half {
  std::uint16_t bits;
  explicit operator float() const { return float_of_f16(bits); }
};

struct Bfloat {
  std::uint16_t bits;
  explicit operator float() const { return float_of_bf16(bits); }
};

struct Boolean {
  std::uint8_t byte;
  explicit operator float() const { return byte == 0 ? 0.0F : 1.0F; }
  explicit operator std::int64_t() const { return byte == 0 ? 0 : 1; }
};

/// Calls work(T{}) with T the stored type.
template <class Work>
auto with_type(NumberType type, Work work) {
  switch (type) {
    case NumberType::f16:
      return work(Half{});
    case NumberType::bf16:
      return work(Bfloat{});
    case NumberType::f32:
      return work(float{});
    case NumberType::f64:
      return work(double{});
    case NumberType::i8:
      return work(std::int8_t{});
    case NumberType::i16:
      return work(std::int16_t{});
    case NumberType::i32:
      return work(std::int32_t{});
    case NumberType::i64:
      return work(std::int64_t{});
    case NumberType::u8:
      return work(std::uint8_t{});
    case NumberType::u16:
      return work(std::uint16_t{});
    case NumberType::u32:
      return work(std::uint32_t{});
    case NumberType::u64:
      return work(std::uint64_t{});
    case NumberType::boolean:
      return work(Boolean{});
  }
  return work(float{});
}

template <class Stored>
constexpr bool kIsWhole = std::is_integral_v<Stored> || std::is_same_v<Stored, Boolean>;

template <class Stored>
Stored stored_at(const std::byte* from, bool big_endian) {
  std::array<std::byte, sizeof(Stored)> bytes;
  std::memcpy(bytes.data(), from, bytes.size());
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Stored>(bytes);
}

template <class To>
void convert(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<To> to) {
  with_type(type, [&]<class Stored>(Stored) {
    if constexpr (kIsWhole<Stored> || std::is_same_v<To, float>)
      for (std::size_t i = 0; i < to.size(); ++i)
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8 is a number here
        to[i] = static_cast<To>(stored_at<Stored>(from.data() + i * sizeof(Stored), big_endian));
  });
}

/// Converts piece by piece, so that the file's bytes are never in memory as a whole.
template <class To>
Array<To> read_numbers(const InputFile& file, const StoredNumbers& stored) {
  constexpr std::size_t kNumbersAtOnce = std::size_t{1} << 16;  // numbers
  const auto values = allocate<To>(stored.count);
  const std::span<To> all(values.get(), stored.count);
  if (std::is_same_v<To, float> && stored.type == NumberType::f32 && !stored.big_endian) {
    file.read(stored.offset, std::as_writable_bytes(all));
    return {values, stored.count};
  }
  const std::size_t size = bytes_of(stored.type);
  std::vector<std::byte> piece(std::min(kNumbersAtOnce, stored.count) * size);
  for (std::size_t begin = 0; begin < stored.count; begin += kNumbersAtOnce) {
    const std::size_t count = std::min(kNumbersAtOnce, stored.count - begin);
    const std::span<std::byte> bytes = std::span(piece).first(count * size);
    file.read(stored.offset + begin * size, bytes);
    convert<To>(stored.type, stored.big_endian, bytes, all.subspan(begin, count));
  }
  return {values, stored.count};
}

}  // namespace

std::string_view name_of(NumberType type) {
  static constexpr std::array<std::string_view, 13> kNames{"float16", "bfloat16", "float32", "float64", "int8",
                                                           "int16",   "int32",    "int64",   "uint8",   "uint16",
                                                           "uint32",  "uint64",   "bool"};
  return kNames[static_cast<std::size_t>(type)];
}

std::size_t bytes_of(NumberType type) {
  return with_type(type, []<class Stored>(Stored) { return sizeof(Stored); });
}

bool is_whole(NumberType type) {
  return with_type(type, []<class Stored>(Stored) { return kIsWhole<Stored>; });
}

bool lies_within(const InputFile& file, const StoredNumbers& stored) {
  return stored.offset <= file.size() && stored.count <= (file.size() - stored.offset) / bytes_of(stored.type);
}

void to_floats(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<float> to) {
  convert(type, big_endian, from, to);
}

void to_integers(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<std::int64_t> to) {
  convert(type, big_endian, from, to);
}

Array<float> read_floats(const InputFile& file, const StoredNumbers& stored) {
  return read_numbers<float>(file, stored);
}

Array<std::int64_t> read_integers(const InputFile& file, const StoredNumbers& stored) {
  Array<std::int64_t> values = read_numbers<std::int64_t>(file, stored);
  const auto large = [](std::int64_t value) { return value < 0; };
  if (stored.type == NumberType::u64)
    if (const auto* found = std::find_if(values.begin(), values.end(), large); found != values.end())
      throw DataError(fmt::format("{}: number {} is {}, expected at most {}", file.name(), found - values.begin() + 1,
                                  static_cast<std::uint64_t>(*found), std::numeric_limits<std::int64_t>::max()));
  return values;
}

void require_finite(std::string_view place, std::span<const float> values) {
  const auto found = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (found != values.end())
    throw DataError(
        fmt::format("{}: number {} is {}, expected finite numbers", place, found - values.begin() + 1, *found));
}

}  // namespace spdnn
