#pragma once

#include <map>

#include "spdnn/model.hpp"

namespace spdnn {

/// The least and the largest number that a value has on some images.
struct ValueRange {
  float low = 0;
  float high = 0;
};

/// Rounds what convolutions and linear nodes read to 8 bits: (clip(round(x / scale), low, high)) x scale, as nodes of
/// the model, which every engine and the reference compute; ONNX holds them as QuantizeLinear and DequantizeLinear.
/// Without negative numbers in its range a value becomes 0 to 255 and the scale is its largest / 255, otherwise -128 to
/// 127 and the largest magnitude / 127. Values without a range, or with zeros alone, stay. Shapes are inferred. Returns
/// how many values are rounded.
std::size_t quantise_values(Model& model, const std::map<ValueId, ValueRange>& ranges);

}  // namespace spdnn
