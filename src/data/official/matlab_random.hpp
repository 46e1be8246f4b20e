#pragma once

#include <random>
#include <span>
#include <vector>

#include "spdnn/types.hpp"

namespace spdnn {

/// The next value of MATLAB's rand() and numpy's random_sample(): a double in [0, 1) with 53 random bits from two
/// consecutive outputs of MT19937 (known as "res53"). MATLAB's default generator is MT19937 with seed 5489, which is
/// also the default of std::mt19937.
double matlab_rand(std::mt19937& generator);

/// The positions of the values in ascending order of value; equal values keep their order.
std::vector<Index> stable_argsort(std::span<const double> values);

}  // namespace spdnn
