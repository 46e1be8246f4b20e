#include "model/operations/functions.hpp"

namespace spdnn::rules {

namespace {

using Kind = Activation::Kind;

/// How far the result moves when the argument does by up to e. All functions but sine and cosine are monotonic, or even
/// and convex, so that the farther end has the farther value.
double moved(Kind kind, double alpha, double x, double e) {
  if (e == 0) return 0;
  if (kind == Kind::sin || kind == Kind::cos) return std::min(e, 2.0);
  // The cosine changes by e at most, so that a tangent's pole is farther away.
  if (kind == Kind::tan && std::abs(std::cos(x)) <= e) return kUnbounded;
  const double value = value_of_function(kind, alpha, x);
  double most = 0;
  for (const double other : {x - e, x + e}) {
    const double off = std::abs(value_of_function(kind, alpha, other) - value);
    if (!(off <= most)) most = std::isnan(off) ? kUnbounded : off;
  }
  return most;
}

/// Functions whose results are exact, if their arguments are.
bool exact(Kind kind) {
  return kind == Kind::abs || kind == Kind::sign || kind == Kind::floor || kind == Kind::ceil || kind == Kind::round;
}

}  // namespace

Point function_of_library(Kind kind, double alpha, double x, double e) {
  const double value = value_of_function(kind, alpha, x);
  if (exact(kind)) return {value, moved(kind, alpha, x, e)};
  // A subnormal argument may be taken for zero.
  const double spread = moved(kind, alpha, x, std::abs(x) < kUnderflow && x != 0 ? e + std::abs(x) : e);
  return {value, spread + kFunction * (std::abs(value) + spread) + 2 * kUnderflow};
}

Magnitude magnitude_of_function(Kind kind, double alpha, double x) {
  switch (kind) {
    case Kind::elu:
      return all_at_most(std::max({x, std::abs(alpha), 1.0}));
    case Kind::softplus:
    case Kind::floor:
    case Kind::ceil:
    case Kind::round:
      return all_at_most(x + 1);
    case Kind::abs:
    case Kind::asinh:
      return all_at_most(x);
    case Kind::sign:
    case Kind::erf:
    case Kind::sin:
    case Kind::cos:
    case Kind::atan:
      return {x, 2};
    default:
      return {x, kUnbounded};
  }
}

}  // namespace spdnn::rules
