#pragma once

#include "engines/cuda/device_layer.hpp"
#include "engines/cuda/row_kernels.hpp"

/// What the kernels of row_kernels.cu and spgemm_kernels.cu do to each stored activation.
namespace spdnn::cuda {

/// Turns what is stored at a neuron into the new activation and its flags.
struct Activate {
  DeviceLayer layer;
  Activation activation;
  float bound;

  __device__ std::uint32_t operator()(float& value, Index neuron) const {
    const float bias = layer.bias_of(neuron);
    const float sum = value + bias;
    value = activation(value, bias);
    return flags_of(value, sum, activation.cap, bound);
  }
};

struct Inspect {
  float cap;

  __device__ std::uint32_t operator()(float& value, Index) const { return flags_of(value, value, cap, 0.0F); }
};

}  // namespace spdnn::cuda
