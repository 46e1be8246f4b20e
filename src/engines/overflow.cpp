#include "engines/overflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plan/magnitudes.hpp"

namespace spdnn {

bool may_overflow(const Plan& plan, const ImageFacts& images, Precision precision) {
  const double limit = precision == Precision::fp64 ? std::numeric_limits<double>::max()
                                                    : static_cast<double>(std::numeric_limits<float>::max());
  const auto stays_below = [&](planning::RowBounds bounds) {
    const double largest = planning::largest_value(images, bounds);
    const std::vector<double> sums = planning::magnitudes(plan, largest, bounds).sums;
    return largest <= limit && std::all_of(sums.begin(), sums.end(), [&](double sum) { return sum <= limit; });
  };
  return !stays_below(planning::RowBounds::rough) && !stays_below(planning::RowBounds::exact);
}

std::string reason_not_to_watch(const EngineOptions& options, std::string_view variant) {
  if (!options.may_overflow) return {};
  return fmt::format(
      "{}: a sum may exceed {}'s largest number, which it cannot detect; expected smaller weights, biases or images, "
      "or a cap; spmm_rows supports any",
      variant, to_string(options.precision));
}

std::vector<Overflow> collect_overflow(std::span<const ImageState> states, std::span<const Index> first_layers) {
  std::vector<Overflow> found;
  for (Index image = 0; image < first_layers.size(); ++image) {
    Index owner = image;
    while (first_layers[owner] == kNoOverflow && states[owner].kind == ImageState::Kind::duplicate)
      owner = states[owner].duplicate_of;
    if (first_layers[owner] != kNoOverflow) found.push_back({image, first_layers[owner]});
  }
  return found;
}

}  // namespace spdnn
