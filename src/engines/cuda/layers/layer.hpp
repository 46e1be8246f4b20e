#pragma once

#include <cstdint>

#include "engines/cuda/layers/activation.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cuda {

/// A layer in device memory, passed to kernels by value: CSR by output neuron, terms in the plan's order.
/// Every array begins on a 256-byte bound.
struct DeviceLayer {
  Index inputs = 0;
  Index outputs = 0;
  Offset edges = 0;
  const std::uint32_t* offsets = nullptr;    ///< outputs + 1; null where the layer has 2^32 edges or more
  const Offset* offsets64 = nullptr;         ///< null where `offsets` is given
  const Index* indices = nullptr;            ///< null where indices16 is given
  const std::uint16_t* indices16 = nullptr;  ///< LayerFormat::indices16 and at most 65536 inputs
  const float* values = nullptr;             ///< null where every edge has `value`
  float value = 1.0F;
  const float* biases = nullptr;  ///< null where every neuron has `bias`
  float bias = 0.0F;

  SPDNN_HOST_DEVICE Offset offset(Index row) const { return offsets != nullptr ? offsets[row] : offsets64[row]; }
  SPDNN_HOST_DEVICE Index index(Offset edge) const { return indices16 != nullptr ? indices16[edge] : indices[edge]; }
  SPDNN_HOST_DEVICE float edge_value(Offset edge) const { return values != nullptr ? values[edge] : value; }
  SPDNN_HOST_DEVICE float bias_of(Index row) const { return biases != nullptr ? biases[row] : bias; }
};

/// How activations are held densely: one row per image with its neurons side by side, or one row per neuron with its
/// images side by side.
enum class Layout { by_image, by_neuron };

}  // namespace spdnn::cuda
