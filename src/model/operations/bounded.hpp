#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/threads/parallel.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The values of a tensor in fp64 and, for each, the bound (model/oracle/evaluate.hpp).
struct Bounded {
  Shape shape;
  std::vector<double> values;
  std::vector<double> bounds;
  Offset terms = 0;  ///< of the longest sum that an add or a batch norm applied to this may become a part of
};

// Arithmetic on values with bounds.
namespace rules {

/// Half the distance of neighbouring fp32 numbers at 1.
inline constexpr double kUnit = 0x1p-24;
/// The error of an fp32 operation if subnormals are flushed to zero.
inline constexpr double kUnderflow = 0x1p-126;

/// No bound at all.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
/// The error of a library's exp, tanh, pow and the like, relative to the result: some units in the last place.
inline constexpr double kFunction = 32 * kUnit;

/// The relative error of n roundings together; infinite if n is too large for a bound.
inline double gamma(double n) { return n * kUnit < 1 ? n * kUnit / (1 - n * kUnit) : INFINITY; }

/// A sum under construction, with the parts of its bound.
struct Sum {
  double value = 0;
  double magnitude = 0;  ///< sum |w| (|x| + e)
  double spread = 0;     ///< sum |w| e

  void add(double weight, double x, double bound) {
    value += weight * x;
    magnitude += std::abs(weight) * (std::abs(x) + bound);
    spread += std::abs(weight) * bound;
  }
  double bound(double roundings) const {
    return magnitude == 0 ? spread : gamma(roundings) * magnitude + spread + 2 * roundings * kUnderflow;
  }
};

/// One value and its bound.
struct Point {
  double value;
  double bound;
};

inline void set(Bounded& y, std::size_t element, const Point& point) {
  y.values[element] = point.value;
  y.bounds[element] = point.bound;
}

/// Calls work(i) for each element, in parallel over axis 0.
template <class Work>
void for_elements(const Bounded& y, const Work& work) {
  const std::size_t images = y.shape.empty() || y.values.empty() ? 1 : static_cast<std::size_t>(y.shape[0]);
  const std::size_t length = y.values.size() / images;
  parallel_for(images, [&](std::size_t image) {
    for (std::size_t i = image * length; i < (image + 1) * length; ++i) work(i);
  });
}

/// Elements that lie together for one index of axis 1.
inline std::size_t channel_size(const Shape& shape) {
  std::size_t size = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) size *= static_cast<std::size_t>(shape[axis]);
  return size;
}

}  // namespace rules

}  // namespace spdnn
