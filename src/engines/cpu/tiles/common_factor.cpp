#include "engines/cpu/tiles/common_factor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "plan/magnitudes.hpp"

namespace spdnn::tiles {

namespace {

using planning::Magnitudes;
using planning::RowBounds;

/// The exponent of T's smallest positive number, of which every number is a multiple.
template <class T>
constexpr int kFinest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;

/// The exponent of a number's last place in T.
template <class T>
int last_place(double value) {
  const T rounded = static_cast<T>(value);
  if (rounded == 0 || !std::isfinite(rounded)) return kFinest<T>;
  return std::max(kFinest<T>, std::ilogb(rounded) + 1 - std::numeric_limits<T>::digits);
}

/// The exponent of a number's lowest bit that is not zero, at least the last place.
template <class T>
int lowest_bit(double value) {
  const auto rounded = static_cast<double>(static_cast<T>(value));
  if (rounded == 0 || !std::isfinite(rounded)) return kFinest<T>;
  constexpr int kDigits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(rounded), &exponent);
  return exponent - kDigits + std::countr_zero(static_cast<std::uint64_t>(std::ldexp(mantissa, kDigits)));
}

bool is_power_of_two(float weight) {
  int exponent = 0;
  return std::abs(std::frexp(weight, &exponent)) == 0.5F;
}

/// The largest e such that all values of the images are multiples of 2^e.
int grain_of(const ImageSet& images) {
  if (images.is_bits()) return 0;
  const CsrMatrix& rows = images.sparse();
  if (rows.uniform()) return lowest_bit<float>(rows.value);
  float least = std::numeric_limits<float>::max();
  for (const float value : rows.values)
    if (value != 0.0F) least = std::min(least, std::abs(value));
  return last_place<float>(least);
}

/// The exponent of the activations, given that of the sums.
template <class T>
int grain_after(const Plan& plan, Index k, int sums) {
  const auto with = [&](double b) {
    return b < 0 ? last_place<T>(b) : b == 0 ? sums : std::min(sums, lowest_bit<T>(b));
  };
  int grain = kFinest<T>;  // whatever biases there are in a file
  if (const auto bias = plan.shape(k).bias) {
    grain = with(*bias);
  } else if (!plan.streamed) {
    grain = std::numeric_limits<int>::max();
    for (const double b : plan.layers[k].bias.values) grain = std::min(grain, with(b));
  }
  return plan.cap ? std::min(grain, lowest_bit<T>(*plan.cap)) : grain;
}

template <class T>
std::vector<bool> factors(const Plan& plan, const ImageSet& images, RowBounds bounds) {
  const auto limit = static_cast<double>(std::numeric_limits<T>::max());
  const Magnitudes magnitudes = planning::magnitudes(plan, planning::largest_value(facts_of(images), bounds), bounds);
  std::vector<bool> once(plan.depth());
  int grain = grain_of(images);
  for (Index k = 0; k < plan.depth(); ++k) {
    int sums = kFinest<T>;
    if (const auto weight = plan.shape(k).weight) {
      const bool power = is_power_of_two(*weight);
      const double unscaled = magnitudes.sums[k] / std::abs(static_cast<double>(*weight));
      const double most = k == 0 && images.is_bits() ? std::ldexp(1.0, std::numeric_limits<T>::digits) : limit;
      const int products = grain + lowest_bit<float>(*weight);
      once[k] = power && magnitudes.sums[k] <= limit && unscaled <= most && products >= kFinest<T>;
      sums = std::max(sums, products);
    }
    grain = grain_after<T>(plan, k, sums);
  }
  return once;
}

}  // namespace

template <class T>
std::vector<bool> common_factors(const Plan& plan, const ImageSet& images) {
  std::vector<bool> once = factors<T>(plan, images, RowBounds::rough);
  for (Index k = 0; k < plan.depth(); ++k) {
    const auto weight = plan.shape(k).weight;
    if (weight && is_power_of_two(*weight) && !once[k]) return factors<T>(plan, images, RowBounds::exact);
  }
  return once;
}

template std::vector<bool> common_factors<float>(const Plan&, const ImageSet&);
template std::vector<bool> common_factors<double>(const Plan&, const ImageSet&);

}  // namespace spdnn::tiles
