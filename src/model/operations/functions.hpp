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

/// One of the activations that a mathematical library has, with its bound; infinite where the argument may lie outside
/// of the function's domain, or at a pole. NaN stays NaN.
Point function_of_library(Activation::Kind kind, double alpha, double x, double e);
/// For arguments up to x in magnitude. Functions that are not defined everywhere, or grow fast, have no limit, so that
/// engines look at their results.
Magnitude magnitude_of_function(Activation::Kind kind, double alpha, double x);

}  // namespace spdnn::rules
