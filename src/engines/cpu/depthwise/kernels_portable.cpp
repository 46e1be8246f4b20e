// The loops of depthwise in the instruction set that the whole program is compiled for.

#include "engines/cpu/depthwise/kernels_impl.hpp"

namespace spdnn::depthwise {

const Kernels* portable_kernels() {
  static constexpr Kernels kKernels = kernels_named("portable");
  return &kKernels;
}

}  // namespace spdnn::depthwise
