#pragma once

// Activations in tiles of 128 images, each tile neuron by neuron, and the shape of the blocks that work on them.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "engines/cuda/layers/activation.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cuda::spmm {

struct Config {
  static constexpr Index kTile = 128;        ///< images
  static constexpr unsigned kThreads = 256;  ///< per block, for 8 items
  static constexpr Index kGroup = 4;         ///< gathers that a thread issues and waits for together
  static constexpr Index kGroups = 3;        ///< of these, in flight or being added
  static constexpr Index kStages = kGroup * kGroups;
  static constexpr Index kMostRows = 8;  ///< that a warp processes one after another, if there are enough warps
  /// Memory for pieces' sums, which limits the tiles taken at a time.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 20U;

  static_assert(kTile == 4 * kWarp, "four images per thread");
  static_assert(kWarp % kGroup == 0 && kGroups - 1 <= kWarp / kGroup && kThreads % kWarp == 0);
  static_assert(sizeof(float4) * kThreads * kStages <= 48 << 10U, "shared memory of a block");
};

/// Tiles of activations. Element (image, neuron) of a layer of `width` neurons.
SPDNN_HOST_DEVICE inline std::size_t place(std::size_t image, Index neuron, Index width) {
  return (image / Config::kTile * width + neuron) * Config::kTile + image % Config::kTile;
}

inline Index tiles_for(std::size_t images) { return narrow<Index>((images + Config::kTile - 1) / Config::kTile); }

}  // namespace spdnn::cuda::spmm
