#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace spdnn {

/// SplitMix64's finaliser (Steele, Lea & Flood 2014): a bijection of 64-bit words whose values look random.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27U) * 0x94d049bb133111ebULL;
  return x ^ x >> 31U;
}

/// Every (seed, kind, row) has its own sequence of random numbers, so the results are independent of threads and of the
/// order of work. They are the same on every platform, except for the last bit of normal().
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t kind, std::uint64_t row)
      : state_(mix_bits(mix_bits(mix_bits(seed + kStep) + kind + kStep) + row + kStep)) {}

  std::uint64_t next() { return mix_bits(state_ += kStep); }

  /// A number in [0, bound), where bound > 0; uniform up to 2^-32 x bound.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((next() >> 32U) * std::uint64_t{bound} >> 32U);
  }

  /// A multiple of 2^-53 in (0, 1].
  double unit() { return (static_cast<double>(next() >> 11U) + 1.0) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }

  /// Normally distributed, with mean 0 and deviation 1 (Box & Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(unit()));
    return radius * std::cos(2.0 * std::numbers::pi * unit());
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;  ///< 2^64 / golden ratio
  std::uint64_t state_;
};

}  // namespace spdnn
