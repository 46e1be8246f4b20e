#pragma once

#include <vector>

#include "engines/cpu/sparse_int8/kernels.hpp"

namespace spdnn::sparse_int8 {

/// The loops that this processor can run, fastest first; never empty.
const std::vector<const Kernels*>& available_kernels();

}  // namespace spdnn::sparse_int8
