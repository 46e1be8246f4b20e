#include "model/operations/broadcast.hpp"

#include "model/operations/requirements.hpp"

namespace spdnn::rules {

Shape broadcast(const Shape& a, const Shape& b, const std::vector<Shape>& inputs) {
  const auto mismatch = [&] { refuse(shape_text(inputs[0]) + " and " + shape_text(inputs[1]) + " do not fit"); };
  const bool first_is_longer = a.size() >= b.size();
  Shape shape = first_is_longer ? a : b;
  const Shape& other = first_is_longer ? b : a;
  const std::size_t ahead = shape.size() - other.size();
  if (ahead > 0 && has_batch(other)) mismatch();
  for (std::size_t axis = 0; axis < other.size(); ++axis) {
    Extent& extent = shape[ahead + axis];
    if (extent == 1)
      extent = other[axis];
    else if (other[axis] != extent && other[axis] != 1)
      mismatch();
  }
  return shape;
}

std::vector<std::size_t> repeated_strides(const Shape& part, const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 0);
  std::size_t stride = 1;
  for (std::size_t axis = part.size(); axis-- > 0;) {
    if (part[axis] != 1) strides[shape.size() - part.size() + axis] = stride;
    stride *= static_cast<std::size_t>(part[axis]);
  }
  return strides;
}

std::size_t place_of(std::size_t element, const Shape& shape, const std::vector<std::size_t>& strides) {
  std::size_t place = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    place += element % extent * strides[axis];
    element /= extent;
  }
  return place;
}

}  // namespace spdnn::rules
