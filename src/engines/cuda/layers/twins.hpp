#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "spdnn/network.hpp"

namespace spdnn::cuda {

struct TwinSearch {
  /// Rows plus edges of the layers on the device at a time; a larger layer is there alone. Small enough that
  /// sorting, and waiting for the first and the last chunk, is short compared with copying.
  Offset chunk = Offset{16} << 20U;
  std::uint64_t hash_mask = ~std::uint64_t{0};  ///< lets tests make hashes collide
};

struct TwinsFound {
  std::vector<Array<Index>> first;  ///< of each layer, as planning::first_equal_rows gives it
  Index left_to_cpu = 0;            ///< layers that do not fit on the device, or whose rows' hashes collide
};

/// The pass `twins` on the device of `options`: for every row of every layer, the lowest row of the layer equal to it
/// bit for bit. Rows of equal hash are compared in full; a layer in which two such rows differ is left to the CPU, as
/// is one that takes more than half of the device's free memory.
TwinsFound find_twins(std::span<const Layer> layers, const EngineOptions& options = {}, const TwinSearch& search = {});

}  // namespace spdnn::cuda
