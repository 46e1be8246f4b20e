#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/input_file.hpp"
#include "spdnn/array.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The types of numbers that files of arrays hold. f16 is IEEE's binary16, bf16 the upper half of an f32.
enum class NumberType { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

/// As messages show it: `float32`.
std::string_view name_of(NumberType type);
std::size_t bytes_of(NumberType type);
/// Whether all its numbers are whole; boolean is 0 or 1.
bool is_whole(NumberType type);

/// Where an array lies in a file, without gaps.
struct StoredNumbers {
  std::size_t offset = 0;  ///< bytes from the beginning of the file
  std::size_t count = 0;
  NumberType type = NumberType::f32;
  bool big_endian = false;
};

/// Whether the array ends within the file. Readers check this before anything is allocated.
bool lies_within(const InputFile& file, const StoredNumbers& stored);

/// Numbers as they lie in memory, as fp32: rounded to the nearest, and infinite beyond fp32's range.
void to_floats(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<float> to);
/// Numbers of a whole type as they lie in memory; those of a u64 beyond 2^63-1 become negative.
void to_integers(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<std::int64_t> to);

/// The array as fp32, converted as to_floats() does.
Array<float> read_floats(const InputFile& file, const StoredNumbers& stored);
/// The array of a whole type. DataError where a u64 exceeds 2^63-1.
Array<std::int64_t> read_integers(const InputFile& file, const StoredNumbers& stored);

/// DataError `PLACE: ...` where a number is infinite or not a number.
void require_finite(std::string_view place, std::span<const float> values);

/// Integers in row-major order: labels, predictions, tokens.
struct IntegerTensor {
  Shape shape;
  Array<std::int64_t> values;  ///< elements(shape) of them
};

}  // namespace spdnn
