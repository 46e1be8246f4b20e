#pragma once

#include <cstddef>

#include "spdnn/types.hpp"

namespace spdnn::cuda {

/// The rows of an engine that computes whole tiles of them, and the layers that it has left.
struct RowTiles {
  Index rows = 1;  ///< of a tile
  Index layers_left = 0;
};

/// Whether moving the `kept` of `rows` rows together pays: when more than a sixteenth have retired, or all, or if that
/// saves tiles for many layers.
constexpr bool moving_pays(Index rows, Index kept, RowTiles tiles) {
  // Moving a tile takes about as long as a layer on it, and may have to be done again soon.
  constexpr std::size_t kLayersPerMove = 4;
  const auto count = [&](Index some) { return (std::size_t{some} + tiles.rows - 1) / tiles.rows; };
  if (kept == 0 || rows - kept > rows / 16) return true;
  return (count(rows) - count(kept)) * tiles.layers_left > kLayersPerMove * count(kept);
}

}  // namespace spdnn::cuda
