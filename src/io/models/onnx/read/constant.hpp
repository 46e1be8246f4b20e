#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>

#include "io/arrays/numbers.hpp"
#include "spdnn/array.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn::onnx_reader {

/// Placeholder for the batch size in integers computed from shapes. It differs from kBatchExtent, since -1 in a Reshape
/// means "the remaining length", and from the ends of the range, which Slices use.
inline constexpr std::int64_t kImages = std::numeric_limits<std::int64_t>::min() / 3;

/// An upper limit on the rank of tensors.
inline constexpr std::size_t kMostAxes = 8;

/// A tensor that is known when the file is read: weights, or integers that make up shapes. Whatever its type in the
/// file, it is held as fp32 or as 64-bit integers.
struct Constant {
  Shape shape;  ///< without kBatchExtent
  std::variant<Array<float>, Array<std::int64_t>> values;
  std::string name{};  ///< its first name in the file
  /// Of fp32 numbers: the type that the file stores them in; f32 if they were computed.
  NumberType type = NumberType::f32;

  bool integers() const { return values.index() == 1; }
  std::span<const float> floats() const { return std::get<0>(values); }
  std::span<const std::int64_t> ints() const { return std::get<1>(values); }
  std::size_t size() const {
    return std::visit([](const auto& array) { return array.size(); }, values);
  }
  std::size_t bytes() const {
    return std::visit([](const auto& array) { return array.bytes(); }, values);
  }
};

/// Weights of which the file has only the non-zeros. Nodes with sparse weights take them as they are; for others they
/// become a Constant.
struct SparseConstant {
  Shape shape;                 ///< with at least one element
  Array<float> values;         ///< may be 0
  Array<std::int64_t> places;  ///< in the tensor by rows; they ascend
  NumberType type = NumberType::f32;
};

}  // namespace spdnn::onnx_reader
