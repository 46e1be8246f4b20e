// The loops of depthwise in AVX2. The Makefile compiles this file with -mavx2 -mfma on x86-64.

#include "engines/cpu/depthwise/kernels_impl.hpp"

namespace spdnn::depthwise {

const Kernels* avx2_kernels() {
#if defined(__AVX2__)
  static constexpr Kernels kKernels = kernels_named("AVX2");
  return &kKernels;
#else
  return nullptr;
#endif
}

}  // namespace spdnn::depthwise
