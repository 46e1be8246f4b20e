#pragma once

#include <vector>

#include "engines/cpu/depthwise/kernels.hpp"

namespace spdnn::depthwise {

/// The loops that this processor can run, fastest first; never empty.
const std::vector<const Kernels*>& available_kernels();

}  // namespace spdnn::depthwise
