#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spdnn/array.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// How a number is stored: f16 is IEEE binary16, bf16 the upper half of an f32, i8 and u8 are integers.
enum class DataType : std::uint8_t { f32, f16, bf16, i8, u8 };

/// As messages show it: `f16`.
std::string_view name_of(DataType type);
std::size_t bytes_of(DataType type);
/// Whether the type is one of integers, which have zero points.
bool is_whole(DataType type);

/// Numbers of a type, stored one by one or as a palette: a codebook of at most 65536 numbers, and a code for each
/// value. Which value belongs to which row of a matrix is up to TypedMatrix. The k-th value, of row r, is by definition
///
///     fp32(scale(r) * stored(k))                          f32, f16, bf16
///     fp32(scale(r) * (stored(k) - zero_point(r)))        i8, u8
///
/// rounded once, to nearest, ties to even: one fp32 number, the same for every engine and for the fp64 reference.
struct Values {
  DataType type = DataType::f32;
  std::size_t count = 0;  ///< of values
  /// Little-endian numbers without gaps: the values, or the codebook if there are codes.
  Array<std::byte> bytes;
  /// 0: no palette; otherwise 1, 2, 4, 8 or 16 bits that are each value's index in the codebook.
  int code_bits = 0;
  /// Code k has bits k x code_bits and up, counted from the lowest bit of the first byte. Bits after the last are zero.
  Array<std::byte> codes;
  std::vector<float> scales;              ///< one, or one for each row; empty: 1
  std::vector<std::int32_t> zero_points;  ///< of i8 and u8, likewise, numbers of the type; empty: 0

  /// The index of the k-th value's number in `bytes`.
  std::size_t code(std::size_t k) const;
  float value(Index row, std::size_t k) const;
  /// The size of all arrays together.
  std::size_t size_bytes() const;
  /// Throws std::invalid_argument where lengths do not fit together, a code lies outside the codebook, a scale is not
  /// positive and finite, a zero point is none of the type's numbers, or a stored number is not finite.
  void validate(Index rows) const;
};

}  // namespace spdnn
