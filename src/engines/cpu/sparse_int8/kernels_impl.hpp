#pragma once

// The loops of kernels.hpp, compiled into each file that includes this for its own instruction set.

#include "engines/cpu/lanes/whole.hpp"
#include "engines/cpu/sparse_conv/kernels_impl.hpp"
#include "engines/cpu/sparse_int8/kernels.hpp"

namespace spdnn::sparse_int8 {
namespace {

using namespace lanes;

/// Sums of products of integers, for the loops of sparse_conv.
struct Whole {
  using Sums = Wholes;
  static Sums first(const sparse_conv::Row& /*row*/) { return zero(); }
  static Sums zero() { return all(std::int32_t{0}); }
  static Sums load(const float* from) { return load_wholes(from); }
  static Sums weight(const sparse_conv::Entry& entry) { return all(entry.weight.wholes); }
  static Sums add_product(Sums weight, const float* factors, Sums sum) {
    return add_products(load(factors), weight, sum);
  }
  static Lanes result(Sums sum, const sparse_conv::Row& row) { return line(sum, row.scale, row.bias); }
  static constexpr bool kBecomeResults = true;
};

template <std::int32_t kChannels, class Number>
void lay_channels(const LayTogether& task) {
  constexpr std::int32_t kBits = 32 / kTogether;
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  const auto* const from = static_cast<const Number*>(task.from);
  for (std::int64_t pixel = 0; pixel < task.pixels; ++pixel) {
    std::uint32_t together = 0;
#pragma GCC unroll 4
    for (std::int32_t channel = 0; channel < kChannels; ++channel)
      together |= (static_cast<std::uint32_t>(from[channel * task.from_stride + pixel] - task.zero) & kMask)
                  << (channel * kBits);
    task.to[pixel] = static_cast<std::int32_t>(together);
  }
}

template <std::int32_t kChannels = kTogether>
void lay_together(const LayTogether& task) {
  if (task.channels < kChannels) {
    if constexpr (kChannels > 1) lay_together<kChannels - 1>(task);
  } else if (task.is_signed) {
    lay_channels<kChannels, std::int8_t>(task);
  } else {
    lay_channels<kChannels, std::uint8_t>(task);
  }
}

constexpr Kernels kernels_named(const char* instruction_set) {
  return {{instruction_set, kLanes, kMostVectors, sparse_conv::add_up<Whole>, sparse_conv::copy, sparse_conv::leave},
          kTogether,
          lay_together<>};
}

}  // namespace
}  // namespace spdnn::sparse_int8
