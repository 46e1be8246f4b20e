#pragma once

#include <vector>

#include "engines/cpu/sparse_conv/kernels.hpp"

namespace spdnn::sparse_conv {

/// The loops that this processor can run, fastest first; never empty.
const std::vector<const Kernels*>& available_kernels();

}  // namespace spdnn::sparse_conv
