#pragma once

#include <algorithm>
#include <cmath>

namespace spdnn {

/// Whether all numbers of a range are finite.
template <class Range>
bool all_finite(const Range& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](auto number) { return std::isfinite(number); });
}

}  // namespace spdnn
