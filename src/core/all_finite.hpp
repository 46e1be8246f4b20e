#pragma once

#include <algorithm>
#include <cmath>

namespace spdnn {

/// Whether none of the numbers of a range is infinite or no number.
template <class Range>
bool all_finite(const Range& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](auto number) { return std::isfinite(number); });
}

}  // namespace spdnn
