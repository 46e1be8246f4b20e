#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace spdnn {

/// Number of a neuron, image or layer, 0-based except in files and messages.
using Index = std::uint32_t;
/// Position in, or length of, a list of edges or non-zeros; products of two Index values fit.
using Offset = std::uint64_t;

/// The largest count of neurons, images or layers: libraries such as cuSPARSE take signed 32-bit indices.
inline constexpr Index kMaxIndex = std::numeric_limits<std::int32_t>::max();

/// Integer conversion; std::range_error if the value does not fit.
template <class To, class From>
constexpr To narrow(From value) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  if (!std::in_range<To>(value)) throw std::range_error("spdnn: integer value does not fit its type");
  return static_cast<To>(value);
}

}  // namespace spdnn
