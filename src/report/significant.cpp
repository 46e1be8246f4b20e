#include "report/significant.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spdnn {

std::string significant(double value, int digits) {
  if (value == 0) return "0";
  // The exponent belongs to the rounded value: 9.9996 is 10.00.
  std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  constexpr int kMostDigits = 15;  // limits values that are no measurements but may appear in a line
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (std::abs(exponent) >= kMostDigits) return scientific;
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

}  // namespace spdnn
