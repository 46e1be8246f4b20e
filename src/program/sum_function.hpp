#pragma once

// Included by files that are compiled for one instruction set, so without anything of the standard library.

namespace spdnn::program {

/// The function of a sum that a kernel stores instead of it.
struct SumFunction {
  enum class Kind { none, limits, leaky_relu, hard_swish };
  Kind kind = Kind::none;
  float low = 0;  ///< limits: min(high, max(low, sum))
  float high = 0;
  float slope = 0;  ///< of leaky_relu, for sums below 0
};

}  // namespace spdnn::program
