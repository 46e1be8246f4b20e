#include "data/official/matlab_random.hpp"

#include <algorithm>
#include <numeric>

namespace spdnn {

double matlab_rand(std::mt19937& generator) {
  const std::uint64_t high = generator() >> 5U;        // 27 bits
  const std::uint64_t low = generator() >> 6U;         // 26 bits
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53: the product is exact
  return static_cast<double>(high << 26U | low) * kScale;
}

std::vector<Index> stable_argsort(std::span<const double> values) {
  std::vector<Index> order(values.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] < values[b]; });
  return order;
}

}  // namespace spdnn
