#pragma once

#include <vector>

#include "engines/cpu/tiles/kernels.hpp"

namespace spdnn::tiles {

/// The kernels that this processor can run, best first; never empty.
template <class T>
const std::vector<const Kernels<T>*>& available_kernels();

}  // namespace spdnn::tiles
