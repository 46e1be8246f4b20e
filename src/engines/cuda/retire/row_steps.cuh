#pragma once

#include <cfloat>

#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/retire/row_kernels.hpp"

/// The operation of row_kernels.cu and spgemm/kernels.cu on each stored activation.
namespace spdnn::cuda {

/// Turns the stored sum of a neuron into the new activation and its flags. Watched: records sums that are not finite,
/// which costs registers.
template <bool kWatched>
struct Activate {
  static constexpr bool kWatches = kWatched;

  DeviceLayer layer;
  Activation activation;
  float bound;

  __device__ std::uint32_t operator()(float& value, Index neuron) const {
    const float bias = layer.bias_of(neuron);
    const float sum = value + bias;
    value = activation(value, bias);
    std::uint32_t flags = flags_of(value, sum, activation.cap, bound);
    if constexpr (kWatched) flags |= fabsf(sum) <= FLT_MAX ? 0 : kOverflowed;
    return flags;
  }
};

struct Inspect {
  static constexpr bool kWatches = false;

  float cap;

  __device__ std::uint32_t operator()(float& value, Index) const { return flags_of(value, value, cap, 0.0F); }
};

}  // namespace spdnn::cuda
