#pragma once

#include <algorithm>

#include "spdnn/tensor.hpp"

namespace spdnn {

/// The padding of one axis, in elements: the smaller and the larger half.
struct SamePadding {
  Extent less = 0;
  Extent more = 0;
};

/// "Same" padding: ceil(length / stride) windows, with the missing elements split between both sides. The odd element
/// goes to the end in TensorFlow, and to the side that the file names in ONNX.
inline SamePadding same_padding(Extent length, Extent kernel, Extent stride, Extent dilation) {
  const Extent reach = dilation * (kernel - 1) + 1;
  const Extent windows = (length + stride - 1) / stride;
  const Extent padding = std::max(Extent{0}, (windows - 1) * stride + reach - length);
  return {padding / 2, padding - padding / 2};
}

}  // namespace spdnn
