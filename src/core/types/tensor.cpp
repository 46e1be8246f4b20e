#include "spdnn/tensor.hpp"

#include <algorithm>
#include <limits>

namespace spdnn {

std::optional<Offset> elements(const Shape& shape) {
  // The limit applies to bytes of fp64 values, which the oracle uses.
  constexpr Offset kMost = static_cast<Offset>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(double);
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent < 0; })) return std::nullopt;
  if (std::any_of(shape.begin(), shape.end(), [](Extent extent) { return extent == 0; })) return 0;
  Offset product = 1;
  for (const Extent extent : shape) {
    if (static_cast<Offset>(extent) > kMost / product) return std::nullopt;
    product *= static_cast<Offset>(extent);
  }
  return product;
}

Shape with_batch(Shape shape, Extent images) {
  std::replace(shape.begin(), shape.end(), kBatchExtent, images);
  return shape;
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "a scalar";
  std::string text;
  for (const Extent extent : shape) {
    if (!text.empty()) text += " x ";
    text += extent == kBatchExtent ? "N" : std::to_string(extent);
  }
  return text;
}

}  // namespace spdnn
