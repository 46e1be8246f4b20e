#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/array.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Length of an axis of a tensor, or kBatchExtent.
using Extent = std::int64_t;
/// The length of axis 0 if it is the number of images in a batch, which is known only for a given batch.
inline constexpr Extent kBatchExtent = -1;

/// The axes of a tensor, outermost first; images are N, C, H, W. Empty: a scalar.
using Shape = std::vector<Extent>;

/// The number of elements of a shape without kBatchExtent; empty if it exceeds an Offset or the address space.
std::optional<Offset> elements(const Shape& shape);
/// The shape with `images` in place of kBatchExtent.
Shape with_batch(Shape shape, Extent images);
/// The text in messages: `N x 3 x 224 x 224`.
std::string shape_text(const Shape& shape);

/// A dense fp32 tensor in row-major order.
struct Tensor {
  Shape shape;
  Array<float> values;  ///< elements(shape) of them
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace spdnn
