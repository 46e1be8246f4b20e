#pragma once

#include <cstddef>
#include <stdexcept>

namespace spdnn::cuda {

inline constexpr unsigned kWarp = 32;
/// The largest grid in y and z: kernels stride over it.
inline constexpr unsigned kMaxGridY = 65535;

/// Blocks of `per_block` threads that cover `items`; the grid's limit in x is 2^31 - 1.
inline unsigned blocks_for(std::size_t items, unsigned per_block) {
  const std::size_t blocks = (items + per_block - 1) / per_block;
  if (blocks > 0x7fffffffU) throw std::length_error("a grid of more than 2^31 - 1 blocks");
  return static_cast<unsigned>(blocks);
}

}  // namespace spdnn::cuda
