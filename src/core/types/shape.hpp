#pragma once

#include <vector>

#include "spdnn/tensor.hpp"

namespace spdnn {

/// All axes except axis 0, which must exist.
inline Shape of_image(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

/// The axes whose length is not 1.
inline Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

/// The distance between neighbours along each axis, in elements, in row-major order.
inline std::vector<Extent> strides_of(const Shape& shape) {
  std::vector<Extent> strides(shape.size());
  Extent stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

}  // namespace spdnn
