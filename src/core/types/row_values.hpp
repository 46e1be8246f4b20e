#pragma once

#include <cstdint>
#include <vector>

#include "spdnn/values.hpp"

// What rows of a matrix have in common: scales and zero points.

namespace spdnn {

/// The entry for a row of a list that has one for all rows, one for each, or none.
template <class T>
T of_row(const std::vector<T>& list, Index row, T otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : row];
}

inline float scale_of(const Values& values, Index row) { return of_row(values.scales, row, 1.0F); }
inline std::int32_t zero_point_of(const Values& values, Index row) {
  return of_row(values.zero_points, row, std::int32_t{0});
}

}  // namespace spdnn
