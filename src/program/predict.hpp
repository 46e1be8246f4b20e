#pragma once

#include <cstddef>

namespace spdnn::program {

// What steps take, roughly: enough to choose between kernels, whose predictions are compared with one another alone.
// The rates are those of one thread of a server's processor with AVX2; on another machine all of them change alike.

inline constexpr double kActionSeconds = 2e-6;          ///< to start a team of threads, and to wait for it
inline constexpr double kMultiplyAddsPerSecond = 4e10;  ///< fp32, the peak of one thread
inline constexpr double kBytesPerSecond = 3e10;         ///< of one thread, in its caches

/// Of what dense kernels of a vendor reach of the peak.
inline constexpr double kDenseEfficiency = 0.7;

/// One pass over that many bytes, read and written.
inline double pass_seconds(std::size_t bytes, int threads) {
  return kActionSeconds + static_cast<double>(bytes) / (kBytesPerSecond * threads);
}

/// That many multiply-adds at a share of the peak.
inline double arithmetic_seconds(double multiply_adds, double efficiency, int threads) {
  return kActionSeconds + multiply_adds / (kMultiplyAddsPerSecond * efficiency * threads);
}

}  // namespace spdnn::program
