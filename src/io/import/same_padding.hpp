#pragma once

#include <algorithm>

#include "spdnn/tensor.hpp"

namespace spdnn {

/// Padding of one axis, in elements: the smaller half and the larger one.
struct SamePadding {
  Extent less = 0;
  Extent more = 0;
};

/// The padding "same": as many windows as the stride allows in the image itself, of `length` elements, and half of what
/// they need more on either side. What is odd goes to the end in TensorFlow, and as the file says in ONNX.
inline SamePadding same_padding(Extent length, Extent kernel, Extent stride, Extent dilation) {
  const Extent reach = dilation * (kernel - 1) + 1;
  const Extent windows = (length + stride - 1) / stride;
  const Extent padding = std::max(Extent{0}, (windows - 1) * stride + reach - length);
  return {padding / 2, padding - padding / 2};
}

}  // namespace spdnn
