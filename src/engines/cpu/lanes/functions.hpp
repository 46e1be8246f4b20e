#pragma once

// Functions of registers of sums, in the instruction set of the including file; what lanes.hpp says holds here too.

#include "engines/cpu/lanes/lanes.hpp"
#include "program/sum_function.hpp"

namespace spdnn::lanes {
namespace {

/// Rounded like program::activated(), after each operation.
inline Lanes hard_swish(Lanes x) {
  return multiply(x, within(add(multiply(x, all(1.F / 6)), all(0.5F)), all(0.F), all(1.F)));
}

/// Changes registers of sums.
template <std::int64_t kCount>
inline void apply(const program::SumFunction& function, Lanes (&sums)[kCount]) {
  const auto each = [&](const auto& value_of) {
#pragma GCC unroll 28
    for (std::int64_t i = 0; i < kCount; ++i) sums[i] = value_of(sums[i]);
  };
  switch (function.kind) {
    case program::SumFunction::Kind::none:
      return;
    case program::SumFunction::Kind::limits: {
      const Lanes low = all(function.low);
      const Lanes high = all(function.high);
      return each([=](Lanes x) { return within(x, low, high); });
    }
    case program::SumFunction::Kind::leaky_relu: {
      const Lanes slope = all(function.slope);
      return each([=](Lanes x) { return leaky_relu(x, slope); });
    }
    case program::SumFunction::Kind::hard_swish:
      return each([](Lanes x) { return hard_swish(x); });
  }
}
inline Lanes applied(const program::SumFunction& function, Lanes sum) {
  Lanes sums[] = {sum};
  apply(function, sums);
  return sums[0];
}

}  // namespace
}  // namespace spdnn::lanes
