#pragma once

#include <cstddef>
#include <span>

#include "core/types/layer_stream.hpp"
#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/runtime/staging.hpp"
#include "spdnn/network.hpp"

namespace spdnn::cuda {

/// The form of a layer on the device.
struct LayerFormat {
  bool indices16 = false;  ///< two bytes per index if a layer has at most 65536 inputs
  bool values = false;     ///< a value for each edge even if all are equal, as the vendor's libraries require
  bool biases64 = false;   ///< biases in fp64, as given: not for DeviceLayer::biases
};

/// Offsets of a layer's parts in its block of memory, in bytes.
struct LayerLayout {
  bool offsets32 = true;
  bool indices16 = false;
  bool values = false;
  bool biases = false;
  bool biases64 = false;
  std::size_t indices_at = 0;
  std::size_t values_at = 0;
  std::size_t biases_at = 0;
  std::size_t bytes = 0;
};
LayerLayout layout_of(const LayerShape& shape, LayerFormat format);

/// The layer whose block lies at `block` in device memory.
DeviceLayer view(const LayerShape& shape, const LayerLayout& layout, const std::byte* block);

/// Writes a layer's block to host memory, on this thread.
void pack(const Layer& layer, const LayerLayout& layout, std::byte* block);

/// Writes the blocks of layers one after another to device memory: all host threads fill staging buffers completely,
/// across layers' bounds. Returns when the last copy is enqueued.
void upload_blocks(std::span<const Layer> layers, LayerFormat format, std::byte* device, Staging& staging,
                   cudaStream_t stream);

}  // namespace spdnn::cuda
