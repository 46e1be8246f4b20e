#pragma once

// The kernels of kernels.hpp, compiled into each file that includes this for its own instruction set.

#include "engines/cpu/tiles/lane_kernels.hpp"
#include "engines/cpu/tiles/layer_kernels.hpp"

namespace spdnn::tiles {
namespace {

template <class T>
constexpr Kernels<T> kernels_named(const char* instruction_set) {
  return {instruction_set,
          {layer<T, Watch::zeros>, layer<T, Watch::caps>, layer<T, Watch::margins>, layer<T, Watch::all>},
          move_lanes<T>,
          transpose<T>,
          hash_lanes<T>};
}

}  // namespace
}  // namespace spdnn::tiles
