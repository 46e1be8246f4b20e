#pragma once

#include "spdnn/tensor.hpp"

namespace spdnn::plain {

/// work(i) for i below count, in equal shares of neighbours.
template <class Work>
void for_each(Extent count, const Work& work) {
#pragma omp parallel for schedule(static) if (count > 1)
  for (Extent i = 0; i < count; ++i) work(i);
}

/// The product of the extents from axis `first` on.
inline Extent elements_from(const Shape& shape, std::size_t first = 0) {
  Extent product = 1;
  for (std::size_t axis = first; axis < shape.size(); ++axis) product *= shape[axis];
  return product;
}

}  // namespace spdnn::plain
