#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>

#include "spdnn/array.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn::onnx_reader {

/// Stands, in integers that are computed from shapes, for the number of images in a batch. It is not kBatchExtent,
/// since -1 in the shape of a Reshape means "what is left"; nor one of the ends of the range, which Slices use.
inline constexpr std::int64_t kImages = std::numeric_limits<std::int64_t>::min() / 3;

/// More axes than any network has.
inline constexpr std::size_t kMostAxes = 8;

/// A tensor that is known when the file is read: weights, and the integers of which shapes are made. Whatever type it
/// has in the file, it is of fp32 or of 64-bit integers here.
struct Constant {
  Shape shape;  ///< without kBatchExtent
  std::variant<Array<float>, Array<std::int64_t>> values;
  std::string name{};  ///< that it first has in the file

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

}  // namespace spdnn::onnx_reader
