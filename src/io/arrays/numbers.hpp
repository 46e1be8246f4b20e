#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/files/input_file.hpp"
#include "spdnn/array.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The number types of array files. f16 is IEEE binary16, bf16 the upper half of an f32.
enum class NumberType { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

/// The name used in messages: `float32`.
std::string_view name_of(NumberType type);
std::size_t bytes_of(NumberType type);
/// Whether the type is integer or boolean.
bool is_whole(NumberType type);

/// The location of an array in a file, without gaps.
struct StoredNumbers {
  std::size_t offset = 0;  ///< bytes from the beginning of the file
  std::size_t count = 0;
  NumberType type = NumberType::f32;
  bool big_endian = false;
};

/// Whether the array ends within the file. Readers check this before they allocate.
bool lies_within(const InputFile& file, const StoredNumbers& stored);

/// Converts stored numbers to fp32: rounded to nearest, infinite beyond fp32's range.
void to_floats(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<float> to);
/// Converts stored numbers of an integer type; u64 values beyond 2^63-1 become negative.
void to_integers(NumberType type, bool big_endian, std::span<const std::byte> from, std::span<std::int64_t> to);

/// Reads the array as fp32, converted by to_floats().
Array<float> read_floats(const InputFile& file, const StoredNumbers& stored);
/// Reads an array of an integer type. DataError if a u64 exceeds 2^63-1.
Array<std::int64_t> read_integers(const InputFile& file, const StoredNumbers& stored);

/// Throws DataError `PLACE: ...` if a number is infinite or NaN.
void require_finite(std::string_view place, std::span<const float> values);

/// Integers in row-major order: labels, predictions, tokens.
struct IntegerTensor {
  Shape shape;
  Array<std::int64_t> values;  ///< elements(shape) of them
};

}  // namespace spdnn
