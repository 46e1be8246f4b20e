#pragma once

#include <algorithm>
#include <cmath>

#include "model/operations/operations.hpp"

// Functions of one number, and how far their results move with their arguments.
namespace spdnn::rules {

/// The value of a function that nowhere turns from rising to falling, and how far it is from those at the ends of where
/// its argument may be.
template <class Function>
Point monotonic(const Function& function, double x, double e) {
  const double value = function(x);
  return {value, e == 0 ? 0 : std::max(std::abs(function(x + e) - value), std::abs(function(x - e) - value))};
}

/// The value of one of the activations that a mathematical library has, in the precision of its argument.
template <class Number>
Number value_of_function(Activation::Kind kind, Number alpha, Number x) {
  using Kind = Activation::Kind;
  switch (kind) {
    case Kind::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case Kind::softplus:
      return std::max(x, Number{0}) + std::log1p(std::exp(-std::abs(x)));
    case Kind::exp:
      return std::exp(x);
    case Kind::log:
      return std::log(x);
    case Kind::sqrt:
      return std::sqrt(x);
    case Kind::abs:
      return std::abs(x);
    case Kind::sign:
      return x > 0 ? Number{1} : x < 0 ? Number{-1} : x;
    case Kind::floor:
      return std::floor(x);
    case Kind::ceil:
      return std::ceil(x);
    case Kind::round:
      return std::nearbyint(x);
    case Kind::erf:
      return std::erf(x);
    case Kind::sin:
      return std::sin(x);
    case Kind::cos:
      return std::cos(x);
    case Kind::tan:
      return std::tan(x);
    case Kind::asin:
      return std::asin(x);
    case Kind::acos:
      return std::acos(x);
    case Kind::atan:
      return std::atan(x);
    case Kind::sinh:
      return std::sinh(x);
    case Kind::cosh:
      return std::cosh(x);
    case Kind::asinh:
      return std::asinh(x);
    case Kind::acosh:
      return std::acosh(x);
    case Kind::atanh:
      return std::atanh(x);
    default:
      return x;
  }
}

/// The same with its bound; infinite where the argument may lie outside
/// of the function's domain, or at a pole. NaN stays NaN.
Point function_of_library(Activation::Kind kind, double alpha, double x, double e);
/// For arguments up to x in magnitude. Functions that are not defined everywhere, or grow fast, have no limit, so that
/// engines look at their results.
Magnitude magnitude_of_function(Activation::Kind kind, double alpha, double x);

}  // namespace spdnn::rules
