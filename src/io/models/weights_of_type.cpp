#include "io/models/weights_of_type.hpp"

#include <optional>

namespace spdnn {

namespace {

std::optional<DataType> narrow_type(NumberType type) {
  switch (type) {
    case NumberType::f16:
      return DataType::f16;
    case NumberType::bf16:
      return DataType::bf16;
    case NumberType::i8:
      return DataType::i8;
    case NumberType::u8:
      return DataType::u8;
    default:
      return std::nullopt;
  }
}

}  // namespace

Weights weights_of_type(CsrMatrix matrix, NumberType type) {
  const auto narrow = narrow_type(type);
  if (!narrow) return matrix;
  const std::size_t width = bytes_of(*narrow);
  const std::size_t sparse = matrix.offsets.bytes() + matrix.entries() * (sizeof(Index) + width);
  const std::size_t dense = std::size_t{matrix.rows} * matrix.cols * width;
  return Weights(typed_matrix(matrix, dense <= sparse ? Pattern::dense : Pattern::csr, *narrow));
}

}  // namespace spdnn
