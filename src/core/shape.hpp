#pragma once

#include <utility>
#include <vector>

#include "spdnn/tensor.hpp"

namespace spdnn {

/// All axes but axis 0, of which there must be one.
inline Shape of_image(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

/// The axes that are longer or shorter than 1.
inline Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

/// By axis, how far apart neighbours lie in row-major order, in elements.
inline std::vector<Extent> strides_of(const Shape& shape) {
  std::vector<Extent> strides(shape.size());
  Extent stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

}  // namespace spdnn
