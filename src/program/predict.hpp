#pragma once

#include <cstddef>

namespace spdnn::program {

// Rough predictions of a step's time, good enough to compare kernels with one another. The rates are those of one
// thread of a server's processor with AVX2; on other machines all of them change by similar factors.

inline constexpr double kActionSeconds = 2e-6;          ///< to start a team of threads, and to wait for it
inline constexpr double kMultiplyAddsPerSecond = 4e10;  ///< fp32, the peak of one thread
inline constexpr double kBytesPerSecond = 3e10;         ///< of one thread, in its caches

/// The fraction of the peak that a vendor's dense kernels reach.
inline constexpr double kDenseEfficiency = 0.9;
/// The same of depthwise convolutions, which multiply what they read a few times only.
inline constexpr double kDepthwiseEfficiency = 0.45;

/// One pass over that many bytes, read and written.
inline double pass_seconds(std::size_t bytes, int threads) {
  return kActionSeconds + static_cast<double>(bytes) / (kBytesPerSecond * threads);
}

/// Seconds for this number of multiply-adds at a share of the peak.
inline double arithmetic_seconds(double multiply_adds, double efficiency, int threads) {
  return kActionSeconds + multiply_adds / (kMultiplyAddsPerSecond * efficiency * threads);
}

}  // namespace spdnn::program
