#pragma once

#include <vector>

#include "program/family.hpp"

namespace spdnn {

/// The families of this build, in the order of kernels.def.
const std::vector<program::Family>& kernel_families();

}  // namespace spdnn
